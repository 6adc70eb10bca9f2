"""`processors`: a list in which each item is one processor under its name, or a branch (`if`, `then`, `else`)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.deferred import Catalog
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.processors.base import ProcessorConfig

__all__ = ["PROCESSORS", "AnyProcessor", "Branch", "ProcessorConfig"]

_NO_BRANCH = "waits for answers and cannot be part of a branch; make it an item of its own, with a 'when'"
_WHOLE: dict[str, Any] = {}
PROCESSORS = NamedItems(
    "processor",
    "add_fields",
    Catalog("log_shipper.shipper.processors"),
    _WHOLE,
    filebeat.PROCESSOR_NOT_YET,
    filebeat.PROCESSOR_IGNORED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    condition: ConditionConfig = field(
        metadata={
            "key": "if",
            "doc": "The condition that decides.",
            "missing": "'then' needs an 'if'",
            "recursive": True,
        },
    )
    then: tuple[Any, ...] = field(
        default=(),
        metadata={"doc": "Processors for events that meet the condition.", "read_as": PROCESSORS, "recursive": True},
    )
    otherwise: tuple[Any, ...] = field(
        default=(),
        metadata={"key": "else", "doc": "Processors for the other events.", "read_as": PROCESSORS, "recursive": True},
    )

    def check(self) -> Iterator[Finding]:
        if not self.then:
            yield "then", "missing; name the processors for events that meet the condition"
        for branch in ("then", "otherwise"):
            for index, item in enumerate(getattr(self, branch)):
                if isinstance(item, ProcessorConfig) and item.awaits:
                    yield f"{branch}[{index}]", f"{item.name} {_NO_BRANCH}"


AnyProcessor = ProcessorConfig | Branch
_WHOLE.update({"if": Branch, "then": Branch, "else": Branch})
