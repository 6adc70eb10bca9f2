"""`uppercase`: converts field names and texts to upper case."""

from dataclasses import dataclass
from typing import ClassVar

from log_shipper.shipper.processor.case import CaseConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class UppercaseConfig(CaseConfig):
    """Converts field names, or values, to upper case."""

    name: ClassVar = "uppercase"
    example: ClassVar = "uppercase: {values: [level]} -> {level: warn} -> {level: WARN}"

    def changed(self, text: str) -> str:
        return text.upper()
