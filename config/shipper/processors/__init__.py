"""`processors`: a list in which each item is one processor under its name, or a branch (`if`, `then`, `else`)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from config.shipper import filebeat
from config.shipper.conditions import ConditionConfig
from config.shipper.processors import (
    adding,
    caching,
    decoding,
    dns,
    host_metadata,
    moving,
    parsing,
    runtime_metadata,
    values,
)
from config.shipper.processors.base import ProcessorConfig
from config.text.checks import Finding
from config.yaml.schema import NamedItems

__all__ = ["PROCESSORS", "AnyProcessor", "Branch", "ProcessorConfig"]

_FAMILIES = (adding, moving, values, parsing, decoding, caching, host_metadata, runtime_metadata, dns)
# By name: every model of these modules that has one. A processor is declared by its class alone.
_MODELS: dict[str, type[ProcessorConfig]] = {
    model.name: model
    for family in _FAMILIES
    for model in vars(family).values()
    if isinstance(model, type) and issubclass(model, ProcessorConfig) and "name" in vars(model)
}
_NO_BRANCH = "dns waits for answers and cannot be part of a branch; make it an item of its own, with a 'when'"
_WHOLE: dict[str, Any] = {}
PROCESSORS = NamedItems(
    "processor",
    _MODELS,
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
            waiting = [index for index, item in enumerate(getattr(self, branch)) if isinstance(item, dns.DnsConfig)]
            yield from ((f"{branch}[{index}]", _NO_BRANCH) for index in waiting)


AnyProcessor = ProcessorConfig | Branch
_WHOLE.update({"if": Branch, "then": Branch, "else": Branch})
