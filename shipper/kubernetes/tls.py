"""TLS to an API server, by the files of the moment: they are renewed while the agent runs."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from shipper.kubernetes.access import Access, Pem
from shipper.tls_sockets import TlsSocket


def tls_context(access: Access) -> ssl.SSLContext:
    """Raises OSError, of which ssl.SSLError is one."""
    authorities = access.authorities
    for pem in (authorities, access.certificate, access.key):
        if pem.file:
            os.stat(pem.file)  # its error names the file, and that of ssl does not
    context = ssl.create_default_context(cafile=authorities.file or None, cadata=authorities.text or None)
    context.sslsocket_class = TlsSocket
    if not access.verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.certificate:
        with _path(access.certificate) as certificate, _path(access.key) as key:
            context.load_cert_chain(certificate, key)
    return context


@contextmanager
def _path(pem: Pem) -> Iterator[str]:
    """Yield a path to read a PEM text from. OpenSSL reads certificates and keys of clients from files alone, and a key
    must not get on a disk: a text is put into a file that is nothing but memory."""
    if pem.file:
        yield pem.file
        return
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    with open(descriptor, "wb") as file:
        file.write(pem.text.encode("ascii"))
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
