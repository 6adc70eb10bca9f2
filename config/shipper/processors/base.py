"""What all processors have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from config.shipper.conditions import ConditionConfig
from config.text.checks import Finding

# What the sink tells repeats by: an event keeps these whatever a processor says.
KEPT_FIELDS = ("log.offset", "log.length", "log.file.id")

# Metadata of options that many processors have.
IGNORE_MISSING: dict[str, Any] = {"doc": "Whether an event without the field is no error."}
FAIL_ON_ERROR: dict[str, Any] = {
    "doc": "After an error the event is as it was before, with error.message; when false, what works is done."
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorConfig:
    """`name` is the key that it stands under in YAML."""

    since: ClassVar = "0.2"
    name: ClassVar[str]
    when: ConditionConfig | None = field(
        default=None, metadata={"doc": "The events that it works on; all of them when absent.", "recursive": True}
    )


def kept(option: str, names: Sequence[str]) -> Iterator[Finding]:
    """Remarks about names whose fields will not go away, or not all of what is below them."""
    for index, name in enumerate(names):
        if stays := [each for each in KEPT_FIELDS if f"{each}.".startswith(f"{name}.")]:
            yield f"{option}[{index}]", f"{', '.join(stays)} will stay: repeats of an event are told by it"
