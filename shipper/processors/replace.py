"""`replace`: replaces matches of a regular expression."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank, not_empty
from log_shipper.config.text.patterns import Pattern, count_groups, finder, group_names
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, on_text
from log_shipper.shipper.processor.fields import path_of

# $name or ${name}. Names are as long as possible: $1x is the group "1x", which does not exist.
_GROUP = re.compile(r"\$(?:(\$)|([0-9A-Za-z_]+)|\{([0-9A-Za-z_]+)\})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementConfig:
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The text field."})
    pattern: Pattern = field(metadata={"check": not_blank, "doc": "The regular expression; all matches are replaced."})
    replacement: str = field(metadata={"doc": "The replacement; $1 and $${name} refer to groups, $$ is $."})

    def check(self) -> Iterator[Finding]:
        names, count = group_names(self.pattern), count_groups(self.pattern)
        for group in _GROUP.finditer(self.replacement):
            name = group[2] or group[3] or "0"
            if name not in names and not (name.isdecimal() and len(name) < 10 and int(name) <= count):
                yield (
                    "replacement",
                    f"the pattern has no group {name!r}; "
                    "write $${1}a for group 1 and the text 'a', and $$ for a dollar sign",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceConfig(ProcessorConfig):
    """Replaces matches of a regular expression in strings."""

    name: ClassVar = "replace"
    example: ClassVar = (
        "replace: {fields: [{field: path, pattern: '/[0-9]+', replacement: /N}]} -> {path: /users/7} "
        "-> {path: /users/N}"
    )
    fields: tuple[ReplacementConfig, ...] = field(
        metadata={"check": not_empty, "doc": "The fields and their replacements."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def build(self, _: ProcessorContext) -> FieldByField:
        def one(field: ReplacementConfig) -> Step:
            return on_text(path_of(field.source), replacing(field.pattern, field.replacement), self.ignore_missing)

        paths = [path_of(field.source) for field in self.fields]
        return FieldByField([one(field) for field in self.fields], paths, fail_on_error=self.fail_on_error)


Span = tuple[int, int]


def replacing(pattern: str, replacement: str) -> Callable[[str], str]:
    """Return a function that replaces all matches; `replacement` is in Go's notation."""
    find, parts = finder(pattern), _parts(replacement, pattern)

    def replaced(text: str) -> str:
        done: list[str] = []
        position = 0
        for spans in find(text):
            start, end = spans[0]
            done.append(text[position:start])
            done += [part if isinstance(part, str) else _group(text, spans, part) for part in parts]
            position = end
        return "".join((*done, text[position:])) if done else text

    return replaced


def _parts(replacement: str, pattern: str) -> list[str | int]:
    """Return the parts of a replacement: fixed texts, and numbers of groups."""
    names = group_names(pattern)
    parts: list[str | int] = []
    position = 0
    for group in _GROUP.finditer(replacement):
        parts.append(replacement[position : group.start()])
        name = group[2] or group[3]
        if group[1]:
            parts.append("$")
        elif name.isdecimal():
            parts.append(int(name))
        elif name in names:
            parts.append(names[name])
        position = group.end()
    return [*parts, replacement[position:]]


def _group(text: str, spans: list[Span], number: int) -> str:
    """Return the text of a group; empty if it did not match or does not exist."""
    return text[slice(*spans[number])] if number < len(spans) else ""
