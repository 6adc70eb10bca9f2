"""What all processors have in common."""

from dataclasses import dataclass, field
from typing import ClassVar

from config.conditions import ConditionConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorConfig:
    """`name` is the key that it stands under in YAML."""

    name: ClassVar[str]
    when: ConditionConfig | None = field(
        default=None, metadata={"doc": "The events that it works on; all of them when absent."}
    )
