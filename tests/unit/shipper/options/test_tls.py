"""The options of `ssl`, without a look into files."""

import pytest

from log_shipper.runtime.kafka.tls_options import CertificateReload, RestartOnChange
from log_shipper.shipper.options.model import SslConfig
from log_shipper.shipper.outputs.kafka import kafka_of
from tests.config_lab import ConfigLab
from tests.tables import rows

KAFKA = "shipper.inputs: [{id: a, paths: [x]}]\noutput.kafka:\n  hosts: [h:1]\n  topic: t\n"
FINGERPRINT = "ab" * 32


def ssl(lab: ConfigLab, options: str) -> SslConfig:
    kafka = kafka_of(lab.load(f"{KAFKA}  ssl: {{{options}}}\n"))
    assert kafka is not None
    return kafka.ssl


@pytest.mark.parametrize(
    ("name", "suite"),
    [
        ("ECDHE-ECDSA-AES-128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("RSA-AES-256-CBC-SHA", "AES256-SHA"),
        ("ECDHE-RSA-CHACHA20-POLY1205", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("ecdhe-rsa-aes256-gcm-sha384", "ECDHE-RSA-AES256-GCM-SHA384"),
    ],
)
def test_a_cipher_suite_has_filebeats_name_or_openssls(lab: ConfigLab, name: str, suite: str) -> None:
    assert ssl(lab, f"cipher_suites: [{name}]").suites == (suite,)


def test_suites_of_tls_1_3_alone_leave_nothing_of_tls_1_2(lab: ConfigLab) -> None:
    section = ssl(lab, "cipher_suites: [TLS-AES-128-GCM-SHA256]")
    assert (section.suites, section.only_tls_1_3) == ((), True)
    both = ssl(lab, "cipher_suites: [TLS_AES_128_GCM_SHA256, RSA-AES-128-GCM-SHA256]")
    assert (both.suites, both.only_tls_1_3) == (("AES128-GCM-SHA256",), False)


@pytest.mark.parametrize(
    ("protocols", "only"), [("[TLSv1.3]", True), ("[tlsv1.2, TLSv1.3]", False), ("[TLSv1, TLSv1.3]", False)]
)
def test_tls_1_3_may_be_the_only_version(lab: ConfigLab, protocols: str, only: bool) -> None:
    assert ssl(lab, f"supported_protocols: {protocols}").only_tls_1_3 is only


def test_a_fingerprint_may_have_the_colons_that_openssl_prints(lab: ConfigLab) -> None:
    colons = ":".join(["AB"] * 32)
    assert ssl(lab, f"ca_trusted_fingerprint: '{colons}'").ca_trusted_fingerprint == FINGERPRINT


@pytest.mark.parametrize(
    ("options", "where", "message"),
    [
        *rows("""
        cipher_suites: [X] -> cipher_suites[0] -> 'X' is not a supported cipher suite
        cipher_suites: [RSA-RC4-128-SHA] -> cipher_suites[0] -> is insecure, and OpenSSL no longer supports it
        supported_protocols: [SSLv3] -> supported_protocols[0] -> 'SSLv3' must be one of: TLSv1.0, TLSv1.1
        supported_protocols: [TLSv1.2] -> supported_protocols -> the client cannot exclude TLSv1.3: add it
        supported_protocols: [TLSv1.1] -> supported_protocols -> OpenSSL no longer connects with TLSv1.1: add TLSv1.2
        supported_protocols: [TLSv1.3], cipher_suites: [RSA-AES-128-CBC-SHA]
            -> cipher_suites -> TLS 1.2 suites have no effect without TLSv1.2
        curve_types: [P-1] -> curve_types[0] -> 'P-1' must be one of: P-256, P-384, P-521, X25519
        ca_sha256: [abc] -> ca_sha256[0] -> 'abc' must be the SHA-256 of a CA's public key, in base64
        ca_trusted_fingerprint: abc -> ca_trusted_fingerprint -> 64 hexadecimal digits
        key_passphrase: a, key_passphrase_path: b -> key_passphrase_path -> conflicts with key_passphrase
        certificate_reload.reload_interval: 0 -> certificate_reload.reload_interval -> must be at least 0.1
        """),
        (
            f"ca_trusted_fingerprint: {FINGERPRINT}, verification_mode: none",
            "ca_trusted_fingerprint",
            "conflicts with 'verification_mode: none'",
        ),
    ],
)
def test_a_mistake_is_named(lab: ConfigLab, options: str, where: str, message: str) -> None:
    (problem,) = lab.problems(f"{KAFKA}  ssl: {{{options}}}\n")
    assert problem.startswith(f"shipper.yml:5: output.kafka.ssl.{where}: ")
    assert message in problem


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ("supported_protocols: [TLSv1.1, TLSv1.2, TLSv1.3]", "OpenSSL no longer connects with TLSv1.0 and TLSv1.1"),
        ("cipher_suites: [TLS-AES-128-GCM-SHA256]", "all TLS 1.3 suites are offered"),
        ("renegotiation: freely", "Kafka brokers never renegotiate"),
        ("restart_on_cert_change.period: 1m", "now certificate_reload"),
    ],
)
def test_what_makes_no_difference_is_noted(lab: ConfigLab, options: str, note: str) -> None:
    (noted,) = lab.load(f"{KAFKA}  ssl: {{{options}}}\n").notes
    assert note in noted


@pytest.mark.parametrize(
    ("section", "interval"),
    [
        (SslConfig(), 5.0),
        (SslConfig(certificate_reload=CertificateReload(reload_interval=60.0)), 60.0),
        (SslConfig(restart_on_cert_change=RestartOnChange(period=30.0)), 30.0),
        (SslConfig(certificate_reload=CertificateReload(enabled=False)), None),
    ],
)
def test_files_are_looked_at_unless_that_is_disabled(section: SslConfig, interval: float | None) -> None:
    assert section.reload_interval == interval
