"""`processors`: a list in which each item is one processor under its name, or a branch (`if`, `then`, `else`)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.deferred import Catalog
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.conditions import ConditionConfig

# The sink recognises duplicates by these fields: no processor may change them.
PROTECTED_FIELDS = ("log.offset", "log.length", "log.file.id")

# Metadata of options common to many processors.
IGNORE_MISSING: dict[str, Any] = {"doc": "Skips events without the field, without an error."}
IGNORE_FAILURE: dict[str, Any] = {"doc": "Omits errors from error.message of events."}
FAIL_ON_ERROR: dict[str, Any] = {
    "doc": "Undoes all changes to an event on an error, and sets error.message; when false, completed changes are kept."
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorConfig:
    """Base of processor options. `name` is the key in YAML; `strict`: Filebeat also refuses unknown options of it.
    `example`: an item of `processors`, and an event before and after it, in YAML, separated by ` -> `; only the item if
    the result depends on the machine. A processor that `awaits` look-ups cannot be in a branch. `processor/base.py`
    builds it.
    """

    since: ClassVar = "0.3"
    name: ClassVar[str]
    example: ClassVar[str] = ""
    awaits: ClassVar = False
    when: ConditionConfig | None = field(
        default=None, metadata={"doc": "Applies only to events that meet this condition.", "recursive": True}
    )

    @property
    def growth(self) -> tuple[int, int] | None:
        """Return the maximum growth of an event as a factor and additional bytes; None if it does not grow."""
        return None

    def may_set(self, root: str) -> bool:
        """Return True if it may set a field below this name. In most processors, an option holds the name: a target, a
        new field name, a key of a pattern.
        """
        return re.search(rf"\b{root}\b", repr(replace(self, when=None))) is not None


def protected(names: Sequence[str]) -> Iterator[Finding]:
    """Yield a warning for each of `fields` that cannot be removed, or not with everything below it."""
    for index, name in enumerate(names):
        if stays := [field_name for field_name in PROTECTED_FIELDS if f"{field_name}.".startswith(f"{name}.")]:
            yield f"fields[{index}]", f"keeps {', '.join(stays)}, needed to identify duplicates"


_NO_BRANCH = "waits for answers and cannot be in a branch; make it a separate item with 'when'"
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
            "doc": "The condition for `then` and `else`.",
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
        metadata={"key": "else", "doc": "Processors for all other events.", "read_as": PROCESSORS, "recursive": True},
    )

    def check(self) -> Iterator[Finding]:
        if not self.then:
            yield "then", "missing; list processors for events that meet the condition"
        for branch in ("then", "otherwise"):
            for index, item in enumerate(getattr(self, branch)):
                if isinstance(item, ProcessorConfig) and item.awaits:
                    yield f"{branch}[{index}]", f"{item.name} {_NO_BRANCH}"


AnyProcessor = ProcessorConfig | Branch


def each_processor(items: Iterable[AnyProcessor]) -> Iterator[Any]:
    """Yield the processors, including those in branches."""
    for item in items:
        if isinstance(item, Branch):
            yield from each_processor((*item.then, *item.otherwise))
        else:
            yield item


_WHOLE.update({"if": Branch, "then": Branch, "else": Branch})
