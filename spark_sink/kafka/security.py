"""The TLS and SASL properties of Kafka's Java client, from the same options as the shipper's.

PEM files are read here and handed over as text: the executors of a cluster do not have the driver's files. Kafka's
client keeps passwords and PEM texts out of what it logs, and Spark what looks like them; no message here has them.
"""

import re

from config.kafka.tls import ClientSslConfig, is_pem
from config.sink.kafka import KafkaSource
from spark_sink.errors import SinkError

LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
# PKCS #8 is the only form that Java reads; OpenSSL's older ones name the algorithm.
KEY = re.compile("-----BEGIN (ENCRYPTED )?PRIVATE KEY-----.+?-----END (ENCRYPTED )?PRIVATE KEY-----", re.DOTALL)
OLD_KEY = re.compile("-----BEGIN [A-Z]+ PRIVATE KEY-----")


def client_security(kafka: KafkaSource) -> dict[str, str]:
    """Return the properties. Raises SinkError for a file that lacks what is needed, or that Java cannot read."""
    tls = bool(kafka.ssl.enabled)
    made = {"security.protocol": ("SASL_" if kafka.username else "") + ("SSL" if tls else "PLAINTEXT")}
    if kafka.username:
        mechanism = kafka.sasl.mechanism
        made["sasl.mechanism"] = mechanism
        made["sasl.jaas.config"] = _login(LOGIN_MODULES[mechanism], kafka.username, kafka.password or "")
    if tls:
        made |= _tls(kafka.ssl)
    return made


def _login(module: str, username: str, password: str) -> str:
    return f"{module} required username={_quoted(username)} password={_quoted(password)};"


def _quoted(text: str) -> str:
    """Return the value quoted for java.io.StreamTokenizer, with which Kafka parses it: a line break would end the
    string."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def _tls(ssl: ClientSslConfig) -> dict[str, str]:
    # "" makes Kafka skip the check of the host name. The configuration refuses to verify nothing at all.
    made = {"ssl.endpoint.identification.algorithm": "" if ssl.verification_mode == "certificate" else "https"}
    if ssl.certificate_authorities:
        made["ssl.truststore.type"] = "PEM"
        made["ssl.truststore.certificates"] = "\n".join(
            _certificates(value, "certificate_authorities") for value in ssl.certificate_authorities
        )
    if ssl.certificate and ssl.key:
        made["ssl.keystore.type"] = "PEM"
        made["ssl.keystore.certificate.chain"] = _certificates(ssl.certificate, "certificate")
        passphrase = _passphrase(ssl)
        made["ssl.keystore.key"] = _key(ssl.key, passphrase)
        if passphrase:
            made["ssl.key.password"] = passphrase
    return made


def _certificates(value: str, option: str) -> str:
    certificates = CERTIFICATE.findall(_text(value, option))
    if not certificates:
        raise SinkError(f"kafka.ssl.{option}: {_name(value)} contains no certificate in PEM")
    return "\n".join(certificates)


def _passphrase(ssl: ClientSslConfig) -> str | None:
    if ssl.key_passphrase_path:
        return _text(ssl.key_passphrase_path, "key_passphrase_path").strip("\r\n")
    return ssl.key_passphrase


def _key(value: str, passphrase: str | None) -> str:
    text = _text(value, "key")
    match = KEY.search(text)
    if match is None:
        why = "is a key in OpenSSL's older form" if OLD_KEY.search(text) else "contains no private key in PEM"
        raise SinkError(
            f"kafka.ssl.key: {_name(value)} {why}; Java reads PKCS #8 only: "
            "openssl pkcs8 -topk8 -nocrypt -in OLD.key -out NEW.key"
        )
    if match[1] and not passphrase:
        raise SinkError(f"kafka.ssl.key: {_name(value)} is encrypted: kafka.ssl.key_passphrase is missing")
    return match[0]


def _text(value: str, option: str) -> str:
    if is_pem(value):
        return value
    try:
        with open(value, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise SinkError(f"kafka.ssl.{option}: {value} cannot be read: {error.strerror}") from error


def _name(value: str) -> str:
    """Return the path for a message; never a text that was given in its place, which may be a key."""
    return "the text given" if is_pem(value) else value
