"""Options that all processors share."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding
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
