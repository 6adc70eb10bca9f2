"""The content of the `ssl` files: read once, checked, and passed to librdkafka as the checked text.

A file that is replaced between check and use therefore cannot create a mismatched pair. `cryptography` and Python's
`ssl` are imported only with TLS: they take 40 ms and 4 MB.
"""

import base64
import os
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.digests import sha256
from log_shipper.config.text.secrets import Secret
from log_shipper.config.yaml.files import read_plain
from log_shipper.runtime.kafka.tls_options import SslConfig, is_pem

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

# Long enough for a weekend with holidays around it.
SOON = timedelta(days=14)
# The CA paths of Linux distributions; the wheel's own OpenSSL also uses them.
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
# A key without its BEGIN and END lines: not a path, although it is unusable.
_BARE_KEY = re.compile(r"[A-Za-z0-9+=\s][A-Za-z0-9+/=\s]{59,}")
CERTIFICATE = re.compile(b"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(slots=True)
class TlsFiles:
    """The texts for a TLS connection, and their errors: (option below ssl, message)."""

    authorities: str = ""  # empty: the system's
    certificate: str = ""
    key: str = field(default="", repr=False)
    passphrase: str = field(default="", repr=False)
    problems: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)


def read(ssl: SslConfig, now: datetime) -> TlsFiles:
    """Return the content of the files, with all problems at once; nothing is raised."""
    files = TlsFiles()
    _read_authorities(ssl, files, now)
    if ssl.certificate and ssl.key:
        _read_pair(ssl, ssl.certificate, ssl.key, files, now)
    return files


def paths(ssl: SslConfig, *others: str) -> tuple[str, ...]:
    """Return the files that the options name; `others` may be texts, too."""
    key = ssl.key.reveal() if ssl.key else None
    named = (*ssl.certificate_authorities, ssl.certificate, key, ssl.key_passphrase_path, *others)
    return tuple(value for value in named if value and not is_pem(value))


def read_authorities(
    values: Sequence[str], option: str, files: TlsFiles, now: datetime
) -> tuple[str, list["Certificate"]]:
    """Return the CA texts and certificates; problems are added to `files`."""
    texts: list[str] = []
    certificates: list[Certificate] = []
    for index, value in enumerate(values):
        where = f"{option}[{index}]"
        texts.append(_text(value, where, files))
        chain = _certificates(texts[-1], value, where, files)
        certificates += chain
        for certificate in chain:
            _check_validity(certificate, value, where, files, now)
    return "".join(texts), certificates


def _read_authorities(ssl: SslConfig, files: TlsFiles, now: datetime) -> None:
    files.authorities, trusted = read_authorities(ssl.certificate_authorities, "certificate_authorities", files, now)
    if (ssl.ca_sha256 or ssl.ca_trusted_fingerprint) and not files.problems:
        pinned = _pinned(ssl, trusted or _system_authorities(), files)
        from cryptography.hazmat.primitives.serialization import Encoding

        files.authorities = "".join(authority.public_bytes(Encoding.PEM).decode() for authority in pinned)


def _pinned(ssl: SslConfig, trusted: list["Certificate"], files: TlsFiles) -> list["Certificate"]:
    """Return the CAs that the options allow."""
    way_out = (
        "add the CA's own file to certificate_authorities; 'openssl s_client -showcerts -connect HOST:PORT' "
        "prints the broker's certificates"
    )
    fingerprint = ssl.ca_trusted_fingerprint
    if fingerprint:
        matching = [authority for authority in trusted if _fingerprint(authority) == fingerprint]
        if not matching:
            files.problems.append(("ca_trusted_fingerprint", f"no trusted CA has it; {way_out}"))
        # As in Filebeat, it adds to configured CAs, and replaces the system's.
        trusted = trusted if ssl.certificate_authorities else matching
    if ssl.ca_sha256:
        trusted = [authority for authority in trusted if _pin(authority) in ssl.ca_sha256]
        if not trusted and not files.problems:
            files.problems.append(("ca_sha256", f"no trusted CA has a public key with this SHA-256; {way_out}"))
    return trusted


def _fingerprint(certificate: "Certificate") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return sha256(certificate.public_bytes(Encoding.DER)).hex()


def _pin(certificate: "Certificate") -> str:
    return base64.b64encode(sha256(_public_key(certificate.public_key()))).decode()


def _public_key(key: object) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]  # a union of all kinds of keys
    return encoded


def _system_authorities() -> list["Certificate"]:
    read: list[Certificate] = []
    for pem in CERTIFICATE.findall(_bundle()):
        with suppress(ValueError):  # some predate current rules
            read += _parsed(pem)
    return read


def _parsed(pem: bytes) -> list["Certificate"]:
    from cryptography import x509
    from cryptography.utils import CryptographyDeprecationWarning

    with warnings.catch_warnings(action="ignore", category=CryptographyDeprecationWarning):
        return x509.load_pem_x509_certificates(pem)


def _bundle() -> bytes:
    """Return the system's CAs, or b"" if not found."""
    import ssl as openssl

    for path in (openssl.get_default_verify_paths().cafile, *BUNDLES):
        if path and os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
    return b""


def _read_pair(ssl: SslConfig, certificate: str, key: Secret, files: TlsFiles, now: datetime) -> None:
    files.certificate = _text(certificate, "certificate", files)
    chain = _certificates(files.certificate, certificate, "certificate", files)
    files.key = _text(key.reveal(), "key", files, _name_of_key(key))
    files.passphrase = ssl.key_passphrase.reveal() if ssl.key_passphrase else ""
    if ssl.key_passphrase_path:
        files.passphrase = _text(ssl.key_passphrase_path, "key_passphrase_path", files).strip("\r\n")
    if files.key:
        _check_key(ssl, key, chain, files)
    if chain:
        _check_validity(chain[0], certificate, "certificate", files, now)


def _check_key(ssl: SslConfig, key: Secret, chain: list["Certificate"], files: TlsFiles) -> None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    encrypted = "ENCRYPTED" in files.key
    given = "key_passphrase_path" if ssl.key_passphrase_path else "key_passphrase"
    if encrypted and not files.passphrase:
        if not ssl.key_passphrase_path:
            files.problems.append(
                ("key", f"{_name_of_key(key)} is encrypted; give key_passphrase or key_passphrase_path")
            )
        elif not any(option == given for option, _ in files.problems):
            files.problems.append((given, f"{ssl.key_passphrase_path} is empty; it must contain the passphrase"))
        return
    try:
        private = load_pem_private_key(files.key.encode(), files.passphrase.encode() if encrypted else None)
    except UnsupportedAlgorithm:
        return  # librdkafka's OpenSSL may support it
    except (ValueError, TypeError):
        if encrypted:
            files.problems.append((given, f"wrong passphrase for {_name_of_key(key)}, or the file is damaged"))
        else:
            files.problems.append(("key", f"{_name_of_key(key)} contains no readable private key in PEM"))
        return
    if chain and _public_key(private.public_key()) != _public_key(chain[0].public_key()):
        files.problems.append(
            ("key", f"{_name_of_key(key)} does not match the certificate in {_name(ssl.certificate or '')}")
        )


def _certificates(text: str, value: str, where: str, files: TlsFiles) -> list["Certificate"]:
    if not text:
        return []
    try:
        return _parsed(text.encode())
    except ValueError:
        if _openssl_reads(text):
            return []  # cryptography is stricter
        kind = "a private key, but no certificate" if "PRIVATE KEY-----" in text else "no certificate in PEM"
        files.problems.append((where, f"{_name(value)} contains {kind} that can be read"))
        return []


def _openssl_reads(text: str) -> bool:
    import ssl as openssl

    try:
        openssl.SSLContext(openssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (openssl.SSLError, ValueError):
        return False
    return True


def _check_validity(certificate: "Certificate", value: str, where: str, files: TlsFiles, now: datetime) -> None:
    """Warn only: it may be renewed while the client runs, and the clock may be wrong at boot."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    subject = certificate.subject.rfc4514_string() or "its certificate"
    if now >= ends:
        message = f"expired on {ends:%Y-%m-%d %H:%M} UTC and is refused: renew it"
    elif now < begins:
        message = f"is not valid before {begins:%Y-%m-%d %H:%M} UTC; check this host's clock"
    elif ends - now < SOON:
        message = f"expires on {ends:%Y-%m-%d %H:%M} UTC, in {(ends - now).days} days; renew it"
    else:
        return
    files.warnings.append((where, f"{_name(value)} ({subject}) {message}"))


def _text(value: str, where: str, files: TlsFiles, name: str = "") -> str:
    """Return the text of a file, or an inline text; "" with a problem, which shows the name instead of the path."""
    if is_pem(value):
        return value + "\n"
    try:
        text = read_plain(value).decode("utf-8", "replace")
    except OSError as error:
        files.problems.append((where, f"cannot read {name or _name(value)}: {error.strerror}"))
        return ""
    if not text.strip() and where != "key_passphrase_path":
        files.problems.append((where, f"{name or value} is empty"))
        return ""
    return text + "\n"


def _name(value: str) -> str:
    """Return the path for a message; never an inline text, which may be a key."""
    return "the text given" if is_pem(value) or _BARE_KEY.fullmatch(value) else value


def _name_of_key(key: Secret) -> str:
    text = key.reveal()
    return "the text given" if is_pem(text) or _BARE_KEY.fullmatch(text) else key.path


def now() -> datetime:
    return datetime.now(UTC)
