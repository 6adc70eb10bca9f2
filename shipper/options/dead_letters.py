"""`dead_letter`: events that the output rejects permanently."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.units import Size
from log_shipper.shipper.options.topics import topic_name


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterTopicConfig:
    topic: str = field(
        metadata={
            "doc": "The topic of dead letters, on the brokers of output.kafka. Letters that the topic refuses go to "
            "the file.",
            "check": topic_name,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LettersConfig:
    since: ClassVar = "0.3"
    rotate_every: Size = field(
        default=100 * 1024**2,
        metadata={
            "doc": "The size at which dead_letter.ndjson in path.data is renamed to dead_letter-TIME.ndjson. The "
            "shipper deletes letters only after they were resent.",
            "min": 1024,
        },
    )
    kafka: LetterTopicConfig | None = field(
        default=None, metadata={"doc": "Sends dead letters to a Kafka topic instead of the file."}
    )
