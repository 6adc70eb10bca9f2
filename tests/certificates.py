"""Files of certificates and keys, from an authority that exists for one test."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

YEAR = timedelta(days=365)


class CertificateDirectory:
    """An authority, and what it issues, in a directory. Every method returns the paths of the files it writes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = trustme.CA()

    def authorities(self, name: str = "authority.pem") -> str:
        replace(self.directory / name, self.authority.cert_pem.bytes())
        return str(self.directory / name)

    def issue(self, name: str = "client", passphrase: str = "", ends: datetime | None = None) -> tuple[str, str]:
        """Return the files of a certificate and its key, which is encrypted if there is a passphrase."""
        ends = ends or datetime.now(UTC) + timedelta(days=300)
        issued = self.authority.issue_cert(f"{name}@shipper.example", not_before=ends - YEAR, not_after=ends)
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        replace(certificate, chain(issued))
        replace(key, private_key(issued, passphrase))
        return str(certificate), str(key)

    def issue_for(self, host: str) -> tuple[str, str]:
        """Return the files of the certificate of a server, and of its key."""
        issued = self.authority.issue_cert(host)
        certificate, key = self.directory / f"{host}.pem", self.directory / f"{host}.key"
        replace(certificate, chain(issued))
        replace(key, private_key(issued))
        return str(certificate), str(key)


def replace(path: Path, content: bytes) -> None:
    """Put another file in its place, as certbot and Kubernetes do: one that is written over within a tick of the file
    system, and has the same size, looks as it was."""
    made = path.with_name(f"{path.name}.new")
    made.write_bytes(content)
    os.replace(made, path)


def chain(issued: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in issued.cert_chain_pems)


def private_key(issued: trustme.LeafCert, passphrase: str = "") -> bytes:
    """Return the key as PKCS #8: Java reads no other format."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    sealed = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealed)
