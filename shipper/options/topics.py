"""Kafka topic names, and the rules that choose an event's topic."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.format_strings import parse_format
from log_shipper.shipper.options.conditions import ConditionConfig

TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_IN_TOPIC = re.compile(r"[A-Za-z0-9._-]*")
NOT_A_TOPIC = "is not a valid topic name: use up to 249 letters, digits, dots, underscores and dashes"


def is_topic(text: str) -> bool:
    """Return True if Kafka accepts the name."""
    return TOPIC.fullmatch(text) is not None and text not in (".", "..")


def topic_name(text: str) -> Iterator[Finding]:
    if not is_topic(text):
        yield "", f"{text!r} {NOT_A_TOPIC}"


def topic_format(text: str) -> Iterator[Finding]:
    try:
        parts = parse_format(text)
    except ValueError as error:
        yield "", str(error)
        return
    fixed = "".join(part for part in parts if isinstance(part, str))
    if len(parts) == 1 and fixed:
        yield from topic_name(fixed)
    elif (fixed and not _IN_TOPIC.fullmatch(fixed)) or not parts:
        yield "", f"{text!r}: {fixed!r} {NOT_A_TOPIC}"


def topic_or_none(text: str) -> Iterator[Finding]:
    if text:
        yield from topic_format(text)


def topic_mappings(mappings: dict[str, str]) -> Iterator[Finding]:
    yield from ((value, message) for value, topic in mappings.items() if topic for _, message in topic_name(topic))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRuleConfig:
    """A rule of `topics`."""

    since: ClassVar = "0.3"
    topic: str = field(
        metadata={
            "doc": "A format string; events without a value for it try the next rule.",
            "check": topic_format,
        }
    )
    when: ConditionConfig | None = field(
        default=None, metadata={"doc": "The events to which the rule applies; all when absent.", "recursive": True}
    )
    mappings: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "doc": "Topics by the value of `topic`; other values have no topic. An empty topic passes the event to the "
            "next rule.",
            "check": topic_mappings,
        },
    )
    default: str | None = field(
        default=None,
        metadata={"doc": "The topic if `topic` or `mappings` yield none.", "check": topic_name},
    )
