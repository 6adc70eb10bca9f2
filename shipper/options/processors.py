"""`processors`: a list in which each item is one processor under its name, or a branch (`if`, `then`, `else`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.deferred import Catalog
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.conditions import ConditionConfig

# The sink recognises duplicates by these: no processor can change them.
PROTECTED_FIELDS = ("log.offset", "log.length", "log.file.id")

# Metadata of options that many processors share.
IGNORE_MISSING: dict[str, Any] = {"doc": "Whether an event without the field is skipped without an error."}
IGNORE_FAILURE: dict[str, Any] = {"doc": "Whether an error of the event is not reported in its error.message."}
FAIL_ON_ERROR: dict[str, Any] = {
    "doc": "Whether an error undoes all changes to the event and sets error.message; when false, what succeeded is "
    "kept."
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorConfig:
    """`name` is the processor's key in YAML; `strict`, where it is true, says that Filebeat, too, refuses an unknown
    option of it. `example`: an item of `processors`, and an event before and after it, all in YAML, with ` -> ` between
    them; the item alone where the result depends on the machine. One that `awaits` look-ups cannot be part of a branch.
    How it is built: `processor/base.py`."""

    since: ClassVar = "0.2"
    name: ClassVar[str]
    example: ClassVar[str] = ""
    awaits: ClassVar = False
    when: ConditionConfig | None = field(
        default=None, metadata={"doc": "The events that it is applied to; all when absent.", "recursive": True}
    )

    @property
    def growth(self) -> tuple[int, int] | None:
        """Return how many times larger the results may be than the event, and how many bytes more; None if they are
        not larger than what is read."""
        return None

    def may_set(self, root: str) -> bool:
        """True if it could set a field below this name. In most processors the name is then in an option: a target, the
        new name of a field, a key of a pattern."""
        return re.search(rf"\b{root}\b", repr(replace(self, when=None))) is not None


def protected(option: str, names: Sequence[str]) -> Iterator[Finding]:
    """Yield a remark for each name of a field that cannot be removed, or not with all that is below it."""
    for index, name in enumerate(names):
        if stays := [field_name for field_name in PROTECTED_FIELDS if f"{field_name}.".startswith(f"{name}.")]:
            yield f"{option}[{index}]", f"{', '.join(stays)} will stay: duplicates of an event are recognised by it"


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
