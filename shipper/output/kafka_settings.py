"""Converts output.kafka to librdkafka's settings, which its CONFIGURATION.md documents."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import Producer as ConfluentProducer
from confluent_kafka.admin import AdminClient

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.report import Examination
from log_shipper.runtime.kafka.clients import client_settings
from log_shipper.runtime.kafka.security import Security
from log_shipper.shipper import librdkafka
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.librdkafka import ClientMaker
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.output.kafka_records import Producer
from log_shipper.shipper.output.positions_topic import Clients

Setting = str | int | float | bool

# The guarantees depend on these; a contradicting raw setting is rejected.
FIXED: dict[str, Setting] = {
    "enable.idempotence": True,
    "acks": "all",
    # 0: never give up a record. With a limit, a longer outage would reorder a file.
    "message.timeout.ms": 0,
    # Every report counts. With transactions, the commit does.
    "delivery.report.only.error": False,
}
# Raw settings that duplicate an option.
OPTIONS = {"transactional.id": "delivery: exactly_once and transaction.id"}
CLIENTS = ClientMaker(
    "librdkafka rejects the settings of output.kafka", "output.kafka.sasl.aws_msk_iam", "; events are kept"
)


def settings(config: KafkaOutputConfig) -> dict[str, Any]:
    """Return librdkafka's settings. Raises StartError for a raw setting that breaks a guarantee, and for unusable TLS
    files."""
    security = Security(config)
    problems = [*contradictions(config.librdkafka), *security.problems]
    if problems:
        raise StartError("\n".join(f"output.kafka.{option}: {message}" for option, message in problems))
    configured: dict[str, Any] = {
        "bootstrap.servers": ",".join(config.hosts),
        "client.id": config.client_id,
        "compression.type": config.compression,
        "message.max.bytes": config.max_message_bytes,
        # The shipper hands over batches, so waiting for more records gains nothing.
        "linger.ms": 1,
        # The shipper's own queue is the limit; these must not be reached earlier.
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2_000_000,
        "partitioner": "murmur2_random",
        # A missing topic is reported early: its records wait in any case.
        "topic.metadata.propagation.max.ms": 5000,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 10_000,
        **security.settings,
        **CLIENTS.tokens(security),
    }
    if config.compression_level is not None:
        configured["compression.level"] = config.compression_level
    return configured | config.librdkafka | FIXED


def contradictions(raw: Mapping[str, Setting]) -> Iterator[Finding]:
    """Yield the raw settings that break a guarantee or duplicate an option."""
    for name, value in raw.items():
        if name in FIXED and str(value).lower() not in _same_as(FIXED[name]):
            words = f"{value} could lose or reorder lines; remove it: the value is always {FIXED[name]}"
            yield f"librdkafka.{name}", words
        if name in OPTIONS:
            yield f"librdkafka.{name}", f"set output.kafka.{OPTIONS[name]} instead"


def latest(config: KafkaOutputConfig) -> Callable[[], dict[str, Any]]:
    """Return the function of librdkafka.latest for this output."""
    return librdkafka.latest(lambda: settings(config))


def transactional(configured: dict[str, Any], transactional_id: str, *, relays: bool = False) -> dict[str, Any]:
    """Return the settings of a transactional producer. `relays`: transactions may have offsets of consumer groups."""
    # When no broker responds, librdkafka 2.16 starts over with bootstrap.servers but keeps the coordinator of a group:
    # a call with offsets then waits for a broker to which it no longer connects (its issue 5511).
    recovery: dict[str, Any] = {"metadata.recovery.strategy": "none"} if relays else {}
    return recovery | configured | {"transactional.id": transactional_id, "delivery.report.only.error": True}


def make_producer(config: KafkaOutputConfig) -> Callable[[Callable[[KafkaError], None]], Producer]:
    """Return a function that creates producers. Raises StartError for settings that librdkafka rejects."""
    return producers(latest(config))


def producers(configured: Callable[[], dict[str, Any]]) -> Callable[[Callable[[KafkaError], None]], Any]:
    def make(on_error: Callable[[KafkaError], None]) -> Any:
        return CLIENTS.new(ConfluentProducer, {**configured(), "error_cb": on_error})

    return make


def clients(configured: Callable[[], dict[str, Any]]) -> Clients:
    """Return the factory of clients that read positions."""
    reading = {
        "group.id": "not-used",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 10,  # the end is reported after an empty fetch
    }

    def shared() -> dict[str, Any]:
        return {**client_settings(configured()), "error_cb": lambda error: None}

    def consumer(isolation: str) -> Consumer:
        made: Consumer = CLIENTS.new(Consumer, {**shared(), **reading, "isolation.level": isolation})
        return made

    def admin() -> AdminClient:
        made: AdminClient = CLIENTS.new(AdminClient, shared())
        return made

    return Clients(admin, consumer)


def refusal(config: KafkaOutputConfig) -> str:
    """Return why librdkafka rejects the settings, "" if it accepts them. Does not connect."""
    return CLIENTS.refusal(ConfluentProducer, settings(config))


def examine(config: KafkaOutputConfig) -> Examination:
    """Return problems with certificates and with features of the installed client, by option. Does not connect."""
    security = Security(config)
    problems = [*contradictions(config.librdkafka), *security.problems]
    if not problems and (reason := refusal(config)):
        problems = [("librdkafka" if config.librdkafka else "", reason)]
    return Examination(_of_output(problems), _of_output(security.warnings))


def _of_output(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple((f"output.kafka.{option}".rstrip("."), message) for option, message in findings)


def _same_as(value: Setting) -> tuple[str, ...]:
    return ("all", "-1") if value == "all" else (str(value).lower(),)
