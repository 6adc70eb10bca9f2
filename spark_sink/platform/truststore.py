"""The machine's certificate authorities in Java's format.

The runtime of the wheel trusts its own list. A machine behind a proxy that intercepts TLS also trusts the proxy's
authority, which is in the system's bundle: pip reads that, so Java must too, or the jars cannot be downloaded.

The format is Java's "JKS", with trusted certificates only (sun.security.provider.JavaKeyStore): magic, version 2,
count; for each its kind (2), alias, time in ms, "X.509", length, DER; at the end SHA-1 over the password in UTF-16, the
words "Mighty Aphrodite" and all preceding bytes.
"""

import hashlib
import os
import re
import ssl
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

DEBIAN_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ONE_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def system_bundle(env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the PEM file that Python and pip trust on this machine; None if they bring their own."""
    candidates = (env.get("SSL_CERT_FILE"), DEBIAN_BUNDLE, ssl.get_default_verify_paths().cafile)
    return next((Path(path) for path in candidates if path and Path(path).is_file()), None)


def certificates(bundle: Path) -> list[bytes]:
    """Return the certificates of a PEM bundle in DER, without duplicates."""
    blocks = ONE_CERTIFICATE.findall(bundle.read_text(encoding="ascii", errors="replace"))
    return list(dict.fromkeys(map(ssl.PEM_cert_to_DER_cert, blocks)))


def key_store(trusted: Sequence[bytes], password: str = "changeit") -> bytes:
    """Return the bytes of a JKS file with these certificates (DER). Equal certificates give equal bytes."""
    body = struct.pack(">III", 0xFEEDFEED, 2, len(trusted))
    for number, certificate in enumerate(trusted):
        kind_and_alias = struct.pack(">I", 2) + _text(f"ca-{number}") + struct.pack(">Q", 0)
        body += kind_and_alias + _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    return body + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded
