from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from config.kafka.security import SaslConfig
from config.kafka.tls import SslConfig
from config.sink.kafka import KafkaSource
from spark_sink.errors import SinkError
from spark_sink.kafka.security import client_security

# No certificates and keys: what is in them is looked at by Kafka's client.
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
OTHER = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
SEALED = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nc2VjcmV0\n-----END ENCRYPTED PRIVATE KEY-----"
OLD = "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----"


def kafka(ssl: dict[str, Any] | None = None, **more: Any) -> KafkaSource:
    section = SslConfig(enabled=True, **ssl) if ssl is not None else SslConfig()
    return KafkaSource(hosts=("k:9092",), topics=("logs",), ssl=section, **more)


@pytest.mark.parametrize(
    ("source", "protocol"),
    [
        (kafka(), "PLAINTEXT"),
        (kafka({}), "SSL"),
        (kafka(username="me", password="pw"), "SASL_PLAINTEXT"),
        (kafka({}, username="me", password="pw"), "SASL_SSL"),
        (kafka(username=""), "PLAINTEXT"),
    ],
)
def test_the_protocol_follows_from_what_is_given(source: KafkaSource, protocol: str) -> None:
    assert client_security(source)["security.protocol"] == protocol


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-256", "scram.ScramLoginModule"), ("SCRAM-SHA-512", "scram.S")],
)
def test_the_login_module_is_the_mechanisms(mechanism: Any, module: str) -> None:
    made = client_security(kafka(username="me", password="pw", sasl=SaslConfig(mechanism=mechanism)))
    assert made["sasl.mechanism"] == mechanism
    assert made["sasl.jaas.config"].startswith(f"org.apache.kafka.common.security.{module}")
    assert made["sasl.jaas.config"].endswith(' required username="me" password="pw";')


@pytest.mark.spark
@pytest.mark.parametrize("password", ['a"b\\c', "two\nlines\r", "\\n; x=\"y'", "päß wörd //* #", "="])
def test_java_reads_the_password_that_was_given(spark: SparkSession, password: str) -> None:
    java: Any = spark._jvm
    security = java.org.apache.kafka.common
    given = java.java.util.HashMap()
    login = client_security(kafka(username='u"\\', password=password))["sasl.jaas.config"]
    given.put("sasl.jaas.config", security.config.types.Password(login))
    (entry,) = security.security.JaasContext.loadClientContext(given).configurationEntries()
    assert dict(entry.getOptions()) == {"username": 'u"\\', "password": password}


def test_authorities_are_files_or_text_and_go_as_text(tmp_path: Path) -> None:
    file = tmp_path / "authorities.pem"
    file.write_text(f"# the office's\n{CERTIFICATE}\n\nthe other one:\n{OTHER}\n")
    made = client_security(kafka({"certificate_authorities": (str(file), CERTIFICATE + "\n")}))
    assert made["ssl.truststore.type"] == "PEM"
    assert made["ssl.truststore.certificates"] == "\n".join((CERTIFICATE, OTHER, CERTIFICATE))


def test_without_authorities_java_trusts_its_own() -> None:
    assert client_security(kafka({})) == {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "https"}


@pytest.mark.parametrize(("mode", "algorithm"), [("full", "https"), ("strict", "https"), ("certificate", "")])
def test_the_host_name_is_verified_unless_the_certificate_alone_counts(mode: str, algorithm: str) -> None:
    assert client_security(kafka({"verification_mode": mode}))["ssl.endpoint.identification.algorithm"] == algorithm


def test_the_clients_certificate_goes_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(f"Bag Attributes\n{SEALED}\n")
    made = client_security(
        kafka({"certificate": CERTIFICATE + OTHER, "key": str(tmp_path / "key.pem"), "key_passphrase": "open"})
    )
    assert {key: value for key, value in made.items() if "key" in key} == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": f"{CERTIFICATE}\n{OTHER}",
        "ssl.keystore.key": SEALED,
        "ssl.key.password": "open",
    }
    assert "ssl.key.password" not in client_security(kafka({"certificate": CERTIFICATE, "key": KEY}))


def test_the_keys_passphrase_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("open sesame\n")
    ssl = {"certificate": CERTIFICATE, "key": SEALED, "key_passphrase_path": str(tmp_path / "passphrase")}
    assert client_security(kafka(ssl))["ssl.key.password"] == "open sesame"


@pytest.mark.parametrize(
    ("ssl", "message"),
    [
        ({"certificate_authorities": ("/none/ca.pem",)}, r"authorities: /none/ca\.pem cannot be read: No such file"),
        ({"certificate_authorities": (KEY,)}, "certificate_authorities: the text given contains no certificate"),
        ({"certificate": "-----BEGIN X", "key": KEY}, "ssl.certificate: the text given contains no certificate"),
        ({"certificate": CERTIFICATE, "key": OLD}, "older form; Java reads PKCS #8 only: openssl pkcs8"),
        ({"certificate": CERTIFICATE, "key": CERTIFICATE}, "ssl.key: the text given contains no private key"),
        ({"certificate": CERTIFICATE, "key": SEALED}, "is encrypted: kafka.ssl.key_passphrase is missing"),
    ],
)
def test_what_java_could_not_use_is_reported_without_showing_it(ssl: dict[str, Any], message: str) -> None:
    with pytest.raises(SinkError, match=message) as refused:
        client_security(kafka(ssl))
    assert "c2VjcmV0" not in str(refused.value)
