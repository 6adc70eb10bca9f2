"""`lowercase`: converts field names and texts to lower case."""

from dataclasses import dataclass
from typing import ClassVar

from log_shipper.shipper.processor.case import CaseConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LowercaseConfig(CaseConfig):
    """Converts field names, or values, to lower case."""

    name: ClassVar = "lowercase"
    example: ClassVar = "lowercase: {fields: [Level], values: [level]} -> {Level: WARN} -> {level: warn}"

    def changed(self, text: str) -> str:
        return text.lower()
