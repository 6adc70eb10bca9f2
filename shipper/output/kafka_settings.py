"""output.kafka -> librdkafka's settings, which are documented in librdkafka's CONFIGURATION.md."""

import logging
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import Producer as ConfluentProducer
from confluent_kafka.admin import AdminClient

from config.shipper.model import KafkaOutputConfig
from shipper.errors import StartError
from shipper.output.kafka import Producer
from shipper.output.positions_topic import Clients

Setting = str | int | float | bool

# The guarantees rest on these; a raw setting that contradicts them is refused.
FIXED: dict[str, Setting] = {
    "enable.idempotence": True,
    "acks": "all",
    # 0: never give up a record. With a limit, a longer outage would reorder a file.
    "message.timeout.ms": 0,
    # Every report counts. With transactions, the commit does.
    "delivery.report.only.error": False,
}
# Of these a raw setting would be another name of an option.
OPTIONS = {"transactional.id": "delivery: exactly_once and transaction.id"}
# The limit of a record is for its value; key, headers and the batch around it take these bytes more.
ENVELOPE = 512


def settings(config: KafkaOutputConfig) -> dict[str, Setting]:
    """Return librdkafka's settings. Raises StartError for a raw setting that would break a guarantee."""
    configured: dict[str, Setting] = {
        "bootstrap.servers": ",".join(config.hosts),
        "client.id": config.client_id,
        "compression.type": config.compression,
        "message.max.bytes": config.max_message_bytes,
        # The shipper hands over batches, so waiting for more records gains nothing.
        "linger.ms": 1,
        # The shipper's own queue is the bound; these must not be reached before it.
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2_000_000,
        "partitioner": "murmur2_random",
        # A topic that does not exist is reported early: its records wait in any case.
        "topic.metadata.propagation.max.ms": 5000,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 10_000,
        **_security(config),
    }
    if config.compression_level is not None:
        configured["compression.level"] = config.compression_level
    for name, value in config.librdkafka.items():
        if name in FIXED and str(value).lower() not in _same_as(FIXED[name]):
            raise StartError(
                f"output.kafka.librdkafka.{name}: {value} would lose or reorder lines; "
                f"it is always {FIXED[name]}: remove it"
            )
        if name in OPTIONS:
            raise StartError(f"output.kafka.librdkafka.{name}: set output.kafka.{OPTIONS[name]} instead")
    return configured | config.librdkafka | FIXED


def transactional(configured: dict[str, Setting], transactional_id: str) -> dict[str, Setting]:
    """Return the settings of a producer with transactions."""
    return configured | {"transactional.id": transactional_id, "delivery.report.only.error": True}


def client_settings(configured: dict[str, Setting]) -> dict[str, Setting]:
    """Return the settings that are not for producers only."""
    wanted = ("bootstrap.servers", "client.id", "security.", "sasl.", "ssl.", "enable.ssl")
    return {name: value for name, value in configured.items() if name.startswith(wanted)}


def make_producer(config: KafkaOutputConfig) -> Callable[[Callable[[KafkaError], None]], Producer]:
    """Return a function that makes producers. Raises StartError for settings that librdkafka refuses."""
    return producers(settings(config))


def producers(configured: dict[str, Setting]) -> Callable[[Callable[[KafkaError], None]], Any]:
    def make(on_error: Callable[[KafkaError], None]) -> Any:
        return new_client(ConfluentProducer, {**configured, "error_cb": on_error})

    return make


def clients(configured: dict[str, Setting]) -> Clients:
    """Return what makes clients that read the positions."""
    shared: dict[str, Any] = {**client_settings(configured), "error_cb": lambda error: None}
    reading = {"group.id": "not-used", "enable.auto.commit": False, "enable.partition.eof": True}

    def consumer(isolation: str) -> Consumer:
        made: Consumer = new_client(Consumer, {**shared, **reading, "isolation.level": isolation})
        return made

    def admin() -> AdminClient:
        made: AdminClient = new_client(AdminClient, shared)
        return made

    return Clients(admin, consumer)


def new_client(kind: Callable[..., Any], configured: dict[str, Any]) -> Any:
    try:
        return kind(configured, logger=_log())
    except KafkaException as error:
        raise StartError(f"output.kafka: librdkafka refuses the settings: {error.args[0].str()}") from error


def _log() -> logging.Logger:
    """Return a silent logger: what matters of librdkafka's own lines is logged by kafka_errors.ErrorReporter."""
    log = logging.getLogger("librdkafka")
    log.setLevel(logging.CRITICAL)
    return log


def _same_as(value: Setting) -> tuple[str, ...]:
    return ("all", "-1") if value == "all" else (str(value).lower(),)


def _security(config: KafkaOutputConfig) -> dict[str, Setting]:
    configured: dict[str, Setting] = {}
    if config.username:
        configured["sasl.mechanism"] = config.sasl.mechanism
        configured["sasl.username"] = config.username
        configured["sasl.password"] = config.password or ""
    if config.ssl.enabled:
        configured |= _tls(config)
    protocol = ("SASL_" if config.username else "") + ("SSL" if config.ssl.enabled else "PLAINTEXT")
    return configured | {"security.protocol": protocol}


def _tls(config: KafkaOutputConfig) -> dict[str, Setting]:
    ssl = config.ssl
    configured: dict[str, Setting] = {}
    if ssl.certificate_authorities:
        configured["ssl.ca.pem"] = "".join(
            _read(path, "certificate_authorities") for path in ssl.certificate_authorities
        )
    for name, value in (("certificate", ssl.certificate), ("key", ssl.key)):
        if value:
            configured[f"ssl.{name}.{'pem' if _is_pem(value) else 'location'}"] = value
    if ssl.key_passphrase:
        configured["ssl.key.password"] = ssl.key_passphrase
    if ssl.verification_mode == "none":
        configured["enable.ssl.certificate.verification"] = False
    if ssl.verification_mode in ("none", "certificate"):
        configured["ssl.endpoint.identification.algorithm"] = "none"
    return configured


def _is_pem(value: str) -> bool:
    """True if the value is the text itself, not the path of a file with it."""
    return value.lstrip().startswith("-----BEGIN ")


def _read(path: str, option: str) -> str:
    if _is_pem(path):
        return path + "\n"
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read() + "\n"
    except OSError as error:
        raise StartError(f"output.kafka.ssl.{option}: {path} cannot be read: {error.strerror}") from error
