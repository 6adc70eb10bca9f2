"""The sink's Kafka clients (librdkafka), on the driver and on executors, with the same options as the shipper's.

The driver reads the files that the configuration names, and executors get their content: `ClientOptions` is all that a
client needs, and can be pickled. So it contains secrets, which its repr leaves out.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from log_shipper.runtime.kafka.clients import new_client, unused
from log_shipper.runtime.kafka.renewal import Clock, renewals
from log_shipper.runtime.kafka.security import AwsTokens, NoCredentials, Security
from log_shipper.runtime.kafka.security_options import AwsMskIamConfig
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.kafka import KafkaSource

logger = logging.getLogger(__name__)

Setting = str | int | float | bool
OnError = Callable[[KafkaError], None]
_NO_GROUP = "not-used"  # librdkafka requires a group.id for a consumer

# Defaults that raw settings may change.
_READING: dict[str, Setting] = {
    # For its producer, the records of an aborted transaction were never sent.
    "isolation.level": "read_committed",
    # The client checks a full queue again after this time. With the default of 1 s, a fast reader mostly waits.
    "fetch.queue.backoff.ms": 5,
    # Memory of each task's client for fetched, unread records. Twice as much is no faster.
    "queued.max.messages.kbytes": 16 * 1024,
    "queued.min.messages": 100_000,
    # The end of a partition is reported after an empty fetch, and only then the next range is fetched: 200 small ranges
    # take 2.6 s with 10 ms, 0.4 s with 1 ms. With 0 the client would fetch without a pause.
    "fetch.wait.max.ms": 1,
}
# Settings that raw settings may not change: `options.kafka.NOT_RAW` refuses them.
_ALWAYS: dict[str, Setting] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A missing offset is an error: the client must never continue at another offset.
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
}


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The options of a client. Equal settings make equal options, so that a client can be kept for the next task."""

    settings: tuple[tuple[str, Setting], ...] = field(repr=False)  # librdkafka's, with the content of files
    servers: str
    group: str = _NO_GROUP
    aws: AwsMskIamConfig | None = None

    @property
    def isolation(self) -> str:
        """Return "read_committed", or "read_uncommitted"."""
        return str(dict(self.settings).get("isolation.level", _READING["isolation.level"]))


def client_options(kafka: KafkaSource) -> ClientOptions:
    """Return the options, with the current content of the TLS files. Raises SinkError for unusable files."""
    return _options(kafka, Security(kafka))


def _options(kafka: KafkaSource, security: Security) -> ClientOptions:
    if security.problems:
        raise SinkError("\n".join(f"kafka.{option}: {message}" for option, message in security.problems))
    settings: dict[str, Setting] = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "client.id": kafka.client_id,
        **security.settings,
        **kafka.librdkafka,
    }
    return ClientOptions(tuple(settings.items()), kafka.bootstrap_servers, kafka.group_id or _NO_GROUP, security.aws)


def latest(kafka: KafkaSource, clock: Clock = time) -> Callable[[], ClientOptions]:
    """Return a function that returns the options, and reads them again after certificates were renewed; it returns the
    previous options while the new ones are unusable. Raises SinkError for raw settings without effect, and for unusable
    files; logs which certificates expire soon."""
    _check_raw(kafka)
    security = Security(kafka)
    current = _options(kafka, security)
    for option, message in security.warnings:
        logger.warning("kafka.%s: %s", option, message)
    are_renewed = renewals(kafka, clock, "kafka")

    def options() -> ClientOptions:
        nonlocal current
        if are_renewed():
            try:
                current = client_options(kafka)
            except SinkError as error:
                logger.warning("%s; the previous version remains in use", error)
        return current

    return options


def _check_raw(kafka: KafkaSource) -> None:
    try:
        ignored = unused(Consumer, {"group.id": _NO_GROUP, **kafka.librdkafka}) if kafka.librdkafka else []
    except KafkaException:
        return  # may depend on the other settings: the first client refuses it
    if ignored:
        raise SinkError("\n".join(f"kafka.librdkafka: {text}: remove it" for text in ignored))


def consumer(options: ClientOptions, on_error: OnError = lambda error: None) -> Consumer:
    """Return a consumer for assigned partitions and offsets. It joins no group and commits nothing; a missing offset is
    an error (_AUTO_OFFSET_RESET), and the end of a partition is reported (_PARTITION_EOF). `on_error` is called within
    `poll` and `consume`. Raises SinkError."""
    settings = {"group.id": options.group, **_READING, **dict(options.settings), **_ALWAYS}
    made: Consumer = _client(Consumer, options, settings, on_error)
    return made


def admin(options: ClientOptions, on_error: OnError = lambda error: None) -> AdminClient:
    """Return an admin client. `on_error` is called within its `poll`. Raises SinkError."""
    made: AdminClient = _client(AdminClient, options, dict(options.settings), on_error)
    return made


def _client(kind: Callable[..., Any], options: ClientOptions, settings: dict[str, Any], on_error: OnError) -> Any:
    settings["error_cb"] = on_error
    if options.aws is not None:
        settings["oauth_cb"] = _tokens(options.aws)
    try:
        return new_client(kind, settings)
    except NoCredentials as error:
        raise SinkError(f"kafka.sasl.aws_msk_iam: {error}") from error
    except KafkaException as error:
        raise SinkError(f"librdkafka rejects these settings: {error.args[0].str()}") from error


def _tokens(aws: AwsMskIamConfig) -> AwsTokens:
    try:
        return AwsTokens(aws, lambda error: logger.warning("kafka.sasl.aws_msk_iam: %s", error))
    except ImportError as error:
        raise SinkError(f"kafka.sasl.mechanism: AWS_MSK_IAM needs a library that is not installed: {error}") from error
