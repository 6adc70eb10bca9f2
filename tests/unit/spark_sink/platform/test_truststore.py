import hashlib
import ssl
from pathlib import Path

from log_shipper.spark_sink.platform.truststore import certificates, key_store, system_bundle


def pem(*contents: bytes) -> str:
    return "".join(f"# a name\n{ssl.DER_cert_to_PEM_cert(content)}" for content in contents)


def test_each_certificate_of_the_bundle_is_taken_once(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(pem(b"one", b"two", b"one"))
    assert certificates(bundle) == [b"one", b"two"]


def test_names_in_the_bundle_that_are_not_ascii_do_no_harm(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes("# Főtanúsítvány\n".encode() + pem(b"one").encode())
    assert certificates(bundle) == [b"one"]


def test_the_key_store_is_laid_out_as_java_reads_it() -> None:
    entry = b"\0\0\0\x02" + b"\0\x04ca-0" + bytes(8) + b"\0\x05X.509" + b"\0\0\0\x03" + b"DER"
    body = b"\xfe\xed\xfe\xed" + b"\0\0\0\x02" + b"\0\0\0\x01" + entry
    digest = hashlib.sha1("secret".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
    assert key_store([b"DER"], "secret") == body + digest


def test_a_bundle_that_the_environment_names_comes_first(tmp_path: Path) -> None:
    bundle = tmp_path / "own.pem"
    bundle.write_text(pem(b"one"))
    assert system_bundle({"SSL_CERT_FILE": str(bundle)}) == bundle
    assert system_bundle({"SSL_CERT_FILE": str(tmp_path / "missing")}) != tmp_path / "missing"
