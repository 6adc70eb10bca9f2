"""TLS certificates and keys as texts, which were read once: OpenSSL would block on a named pipe, and reads client
certificates and keys only from files. A key must not reach a disk."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager


def client_context(
    authorities: str = "", certificate: str = "", key: str = "", *, verifies: bool = True
) -> ssl.SSLContext:
    """Return a context that trusts only these PEM authorities, or the system's if empty. Raises ssl.SSLError."""
    context = ssl.create_default_context(cadata=_ascii(authorities) or None)
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        load_pair(context, certificate, key)
    return context


def trust(context: ssl.SSLContext, authorities: str) -> None:
    """Trust these authorities too. Raises ssl.SSLError."""
    context.load_verify_locations(cadata=_ascii(authorities))


def load_pair(context: ssl.SSLContext, certificate: str, key: str, passphrase: str = "") -> None:
    """Use this PEM certificate. Raises ssl.SSLError; never asks for a passphrase at the terminal."""
    with _in_memory(certificate) as certificate_path, _in_memory(key) as key_path:
        context.load_cert_chain(certificate_path, key_path, password=passphrase)


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """Yield the path of a file that exists only in memory."""
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    with open(descriptor, "wb") as file:
        file.write(text.encode())
        file.flush()
        yield f"/proc/self/fd/{descriptor}"


def _ascii(text: str) -> str:
    """Return the text as ASCII, which the library requires: comments between certificates may be in any language."""
    return text.encode("ascii", "replace").decode()
