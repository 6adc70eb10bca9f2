"""`lowercase`: names of fields, and texts, in lower case."""

from dataclasses import dataclass
from typing import ClassVar

from log_shipper.shipper.processor.case import CaseConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LowercaseConfig(CaseConfig):
    """Changes names of fields, and values, to lower case."""

    name: ClassVar = "lowercase"
    example: ClassVar = "lowercase: {fields: [Level], values: [level]} -> {Level: WARN} -> {level: warn}"

    def changed(self, text: str) -> str:
        return text.lower()
