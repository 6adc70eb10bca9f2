"""What is in the files of `ssl`, and what is wrong with them."""

import base64
import hashlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka.tls import TlsFiles, paths, read
from log_shipper.shipper.options.model import SslConfig
from tests.certificates import CertificateDirectory

NOW = datetime.now(UTC)


@pytest.fixture
def certificates(tmp_path: Path) -> CertificateDirectory:
    return CertificateDirectory(tmp_path)


def files_of(now: datetime = NOW, **options: Any) -> TlsFiles:
    return read(SslConfig(enabled=True, **options), now)


def problems_of(**options: Any) -> list[tuple[str, str]]:
    return files_of(**options).problems


def certificate_of(authority: trustme.CA) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.cert_pem.bytes())


def pin_of(authority: trustme.CA) -> str:
    key = certificate_of(authority).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def test_the_texts_of_the_files_are_returned(certificates: CertificateDirectory, tmp_path: Path) -> None:
    authority, (certificate, key) = certificates.authorities(), certificates.issue(passphrase="open sesame")
    (tmp_path / "passphrase").write_text("open sesame\r\n")
    files = files_of(
        certificate_authorities=(authority,),
        certificate=certificate,
        key=Secret(key),
        key_passphrase_path=str(tmp_path / "passphrase"),
    )
    assert (files.problems, files.warnings) == ([], [])
    assert files.passphrase == "open sesame"
    for text, path in ((files.authorities, authority), (files.certificate, certificate), (files.key, key)):
        assert text.strip() == Path(path).read_text().strip()
    assert "open sesame" not in repr(files)
    assert files.key.splitlines()[1] not in repr(files)


def test_a_text_may_replace_each_file(certificates: CertificateDirectory) -> None:
    texts = [Path(path).read_text() for path in (certificates.authorities(), *certificates.issue())]
    files = files_of(certificate_authorities=(texts[0],), certificate=texts[1], key=Secret(texts[2]))
    assert files.problems == []
    assert [text.strip() for text in (files.authorities, files.certificate, files.key)] == [t.strip() for t in texts]


def test_without_options_nothing_is_read() -> None:
    assert files_of() == TlsFiles()


def test_all_problems_are_reported_at_once_without_showing_a_key(certificates: CertificateDirectory) -> None:
    certificate, key = certificates.issue()
    text = Path(key).read_text()
    options = {"certificate_authorities": ("/no/such/ca.pem", text), "certificate": certificate}
    problems = problems_of(**options, key=Secret(certificates.issue("other")[1]))
    assert [option for option, _ in problems] == ["certificate_authorities[0]", "certificate_authorities[1]", "key"]
    assert [message.partition(": ")[0] for _, message in problems] == [
        "cannot read /no/such/ca.pem",
        "the text given contains a private key, but no certificate that can be read",
        f"{certificates.directory}/other.key does not match the certificate in {certificate}",
    ]
    assert text.splitlines()[1] not in str(problems)


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        ({}, "key", "is encrypted; give key_passphrase or key_passphrase_path"),
        ({"key_passphrase": Secret("shut")}, "key_passphrase", "wrong passphrase for"),
        ({"key_passphrase_path": "shut.txt"}, "key_passphrase_path", "wrong passphrase for"),
        ({"key_passphrase_path": "empty.txt"}, "key_passphrase_path", "is empty; it must contain the passphrase"),
        ({"key_passphrase_path": "none.txt"}, "key_passphrase_path", "none.txt: No such file or directory"),
    ],
)
def test_a_passphrase_that_does_not_open_the_key_is_reported(
    options: dict[str, str], option: str, message: str, certificates: CertificateDirectory
) -> None:
    (certificates.directory / "shut.txt").write_text("shut\n")
    (certificates.directory / "empty.txt").write_text("\n")
    if "key_passphrase_path" in options:
        options = {"key_passphrase_path": str(certificates.directory / options["key_passphrase_path"])}
    certificate, key = certificates.issue(passphrase="open")
    ((where, problem),) = problems_of(certificate=certificate, key=Secret(key), **options)
    assert where == option
    assert message in problem


def test_a_passphrase_for_a_key_that_is_not_encrypted_is_harmless(certificates: CertificateDirectory) -> None:
    certificate, key = certificates.issue()
    assert problems_of(certificate=certificate, key=Secret(key), key_passphrase=Secret("x")) == []


@pytest.mark.parametrize(("content", "message"), [("", "is empty"), ("hello", "contains no certificate in PEM")])
def test_a_file_without_a_certificate_is_reported(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(content)
    ((where, problem),) = problems_of(certificate_authorities=(str(tmp_path / "ca.pem"),))
    assert where == "certificate_authorities[0]"
    assert message in problem


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (timedelta(hours=-1), "expired on"),
        (timedelta(days=3, hours=1), "in 3 days; renew it"),
        (timedelta(days=366), "is not valid before"),
        (timedelta(days=15), ""),
    ],
)
def test_a_certificate_that_is_not_valid_for_long_is_a_warning(
    ends: timedelta, message: str, certificates: CertificateDirectory
) -> None:
    certificate, key = certificates.issue(ends=NOW + ends)
    files = files_of(certificate=certificate, key=Secret(key))
    assert files.problems == []
    assert [where for where, _ in files.warnings] == (["certificate"] if message else [])
    assert all(message in warning for _, warning in files.warnings)


def test_an_authority_that_has_expired_is_a_warning(certificates: CertificateDirectory) -> None:
    authority = certificates.authorities()
    years = certificate_of(certificates.authority).not_valid_after_utc + timedelta(days=1)
    ((where, warning),) = files_of(years, certificate_authorities=(authority,)).warnings
    assert where == "certificate_authorities[0]"
    assert "expired on" in warning


def test_only_authorities_with_a_pinned_key_are_trusted(certificates: CertificateDirectory) -> None:
    other = CertificateDirectory(certificates.directory)
    authorities = (certificates.authorities(), other.authorities("other.pem"))
    files = files_of(certificate_authorities=authorities, ca_sha256=(pin_of(other.authority),))
    assert files.problems == []
    assert files.authorities == other.authority.cert_pem.bytes().decode()


def test_a_pin_that_no_authority_has_is_reported_with_the_way_out(certificates: CertificateDirectory) -> None:
    stranger = pin_of(trustme.CA())
    ((where, problem),) = problems_of(certificate_authorities=(certificates.authorities(),), ca_sha256=(stranger,))
    assert where == "ca_sha256"
    assert "openssl s_client -showcerts" in problem


def test_a_fingerprint_must_be_that_of_a_trusted_authority(certificates: CertificateDirectory) -> None:
    other = CertificateDirectory(certificates.directory)
    authorities = (certificates.authorities(), other.authorities("other.pem"))
    known = certificate_of(other.authority).fingerprint(SHA256()).hex()
    files = files_of(certificate_authorities=authorities, ca_trusted_fingerprint=known)
    assert files.problems == []
    assert files.authorities.count("BEGIN CERTIFICATE") == 2
    for trusted in (authorities, ()):
        ((where, problem),) = problems_of(certificate_authorities=trusted, ca_trusted_fingerprint="ab" * 32)
        assert where == "ca_trusted_fingerprint"
        assert "no trusted CA has it; add the CA's own file" in problem


def test_a_fingerprint_of_one_of_the_systems_authorities_makes_it_the_only_one() -> None:
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    if not bundle.exists():
        pytest.skip("this system has no bundle of authorities")
    known = x509.load_pem_x509_certificate(bundle.read_bytes()).fingerprint(SHA256()).hex()
    assert files_of(ca_trusted_fingerprint=known).authorities.count("BEGIN CERTIFICATE") == 1


def test_the_files_that_are_named_are_listed_and_texts_are_not() -> None:
    ssl = SslConfig(
        certificate_authorities=("/ca", "-----BEGIN X"), certificate="/c", key=Secret("/k"), key_passphrase_path="p"
    )
    assert paths(ssl, "/more", "-----BEGIN Y") == ("/ca", "/c", "/k", "p", "/more")


def test_without_tls_nothing_is_imported_for_it() -> None:
    ours = "log_shipper.shipper.agent.app, log_shipper.shipper.outputs.kafka_check"
    program = f"import sys, {ours}; print({{'cryptography', 'botocore'}} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout == "set()\n"
