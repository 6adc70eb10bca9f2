"""`processors:` a list in which each item is one processor under its name, or a branch (`if`, `then`, `else`)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from config.checks import Finding
from config.conditions import ConditionConfig
from config.processors import changing, decoding, metadata, parsing
from config.processors.base import ProcessorConfig
from config.schema import Named

__all__ = ["PROCESSORS", "AnyProcessor", "Branch", "ProcessorConfig"]

NAMED = (*changing.MODELS, *parsing.MODELS, *decoding.MODELS, *metadata.MODELS)
NOT_YET = {"script": "left out on purpose: a program in the configuration has no bounds; see if/then/else and grok"}
_WHOLE: dict[str, Any] = {}
PROCESSORS = Named("processor", {model.name: model for model in NAMED}, _WHOLE, NOT_YET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    condition: ConditionConfig = field(
        metadata={"key": "if", "doc": "What decides.", "missing": "then needs its if"},
    )
    then: tuple[Any, ...] = field(
        default=(), metadata={"doc": "Processors for events that meet it.", "read_as": PROCESSORS, "recursive": True}
    )
    otherwise: tuple[Any, ...] = field(
        default=(),
        metadata={"key": "else", "doc": "Processors for the others.", "read_as": PROCESSORS, "recursive": True},
    )

    def check(self) -> Iterator[Finding]:
        if not self.then:
            yield "then", "missing; name the processors for events that meet the condition"


AnyProcessor = ProcessorConfig | Branch
_WHOLE.update({"if": Branch, "then": Branch, "else": Branch})
