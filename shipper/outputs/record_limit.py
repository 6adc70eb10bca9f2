"""How large a message and its record may become, so that the output can send it."""

from log_shipper.shipper.options.feeds.base import AnyInput
from log_shipper.shipper.options.model import KafkaOutputConfig, ShipperConfig

UNLIMITED = 2**31
# The limit of a record is for its value; a file id as its key and the batch around it take these bytes more,
ENVELOPE = 512
# a key of events as many (with a longer one, an event as large as the limit is a dead letter),
KEY = 1024
# and each header its key, its value and the lengths of both.
HEADER = 10


def message_limit(config: AnyInput, root: ShipperConfig) -> int:
    """Return the most bytes of a message: no more than the output can send, which would only be cut later."""
    kafka = root.output.to_kafka
    if kafka is None or kafka.oversized != "cut":
        return config.message_max_bytes
    return min(config.message_max_bytes, record_limit(kafka))


def record_limit(config: KafkaOutputConfig) -> int:
    """Return the longest record value that fits into a Kafka message of `max_message_bytes` beside the configured key
    and headers, in bytes."""
    headers = sum(len(header.key.encode()) + len(header.value.reveal().encode()) + HEADER for header in config.headers)
    return max(config.max_message_bytes - ENVELOPE - headers - (KEY if config.key else 0), 1)
