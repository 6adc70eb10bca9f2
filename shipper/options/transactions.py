"""`output.kafka.transaction`: how records and positions are committed together (`delivery: exactly_once`)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.units import Duration


def transactional_id(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"[\x21-\x7e]{1,200}", text):
        yield "", f"{text!r} must be 1 to 200 ASCII characters without blanks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfig:
    since: ClassVar = "0.2"
    id: str | None = field(
        default=None,
        metadata={
            "doc": "The transactional id, under which the positions are found again. No two shippers may share one. "
            "When absent it is `shipper-` and the agent's id, which is kept in path.data: set it for the positions to "
            "survive the loss of path.data.",
            "check": transactional_id,
        },
    )
    topic: str = field(
        default="shipper-positions",
        metadata={"doc": "The compacted topic of the positions, created if it does not exist. Shippers may share it."},
    )
    interval: Duration = field(
        default=0.1,
        metadata={
            "doc": "How long records are collected before they are committed, unless half the queue is full earlier. A "
            "consumer with read_committed sees them after that.",
            "min": 0.001,
            "max": 10,
        },
    )


def shorter_than_a_transaction(
    transaction: TransactionConfig, raw: Mapping[str, str | int | float | bool]
) -> Iterator[Finding]:
    """Yield a raw timeout at which the broker would end each transaction before it is committed."""
    timeout = raw.get("transaction.timeout.ms")
    if isinstance(timeout, int) and timeout < 2000 * transaction.interval:
        least = f"{2000 * transaction.interval:.0f}"
        yield "librdkafka.transaction.timeout.ms", f"{timeout} must be at least {least}, twice transaction.interval"
