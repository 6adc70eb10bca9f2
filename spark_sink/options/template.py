"""The table's path as a template: `/data/logs/%{[topic]}`, `/data/%{[fields.service]:other}`.

It supports the fields of Filebeat's format strings: `%{[a.b]}` and `%{[a][b]}` are the same, and the text after `]:` is
the default for records without the field. `[topic]` is Kafka's topic, any other name a field of the record.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from log_shipper.config.text.format_strings import FieldPart, FormatPart, TimePart, parse_format

TOPIC = "topic"
_EXAMPLE = "%{[topic]}"
_DIRECTORY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
# Probably meant as a field, but it would become a directory of that name.
_LOOKALIKE = re.compile(r"(?<!%)\{|%\[")


@dataclass(frozen=True, slots=True)
class TemplateField:
    """`name` is a dotted path in the record, or TOPIC; without a `default`, a record that lacks the field is a bad
    record."""

    name: str
    default: str | None = None

    @property
    def is_topic(self) -> bool:
        return self.name == TOPIC


Part = str | TemplateField


@dataclass(frozen=True, slots=True)
class Template:
    parts: tuple[Part, ...]

    @property
    def fields(self) -> tuple[TemplateField, ...]:
        return tuple(part for part in self.parts if isinstance(part, TemplateField))

    @property
    def fixed(self) -> str:
        """Return the prefix that all its paths share."""
        return self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""

    @property
    def directory(self) -> str:
        """Return the directory that contains all its tables."""
        return self.fixed.rpartition("/")[0]

    @property
    def base(self) -> str:
        """Return the path from which the names of the other tables derive: the fixed part, without the separator before
        the first field."""
        return self.fixed.rstrip("/-_." if self.fields else "/")

    def pattern(self, topics: Sequence[str] = ()) -> re.Pattern[str]:
        """Return a pattern for the paths of its tables, or only of these topics, if any. Values contain no slash."""
        any_topic = "(?:" + "|".join(map(re.escape, topics)) + ")" if topics else "[^/]+"
        return re.compile("".join(_regex(part, any_topic) for part in self.parts))


def parse_template(text: str) -> Template:
    """Parse a template. Raises ValueError with a message for the user."""
    if _LOOKALIKE.search(text):
        raise ValueError(
            f"{text!r} has '{{' or '%[' where no field begins. Write a field as '{_EXAMPLE}'; a path cannot contain "
            "another '{'"
        )
    return Template(tuple(_part(part) for part in parse_format(text, _EXAMPLE)))


def _part(part: FormatPart) -> Part:
    match part:
        case TimePart(layout):
            raise ValueError(
                f"'%{{+{layout}}}': a path cannot contain times; within a table, `date` separates the days"
            )
        case FieldPart(name, default):
            if default is not None and not _DIRECTORY.fullmatch(default):
                raise ValueError(
                    f"'%{{[{name}]:{default}}}': the default of this field must be one directory name: letters, "
                    f"digits, '_', '-', and '.' except at its beginning, not {default!r}"
                )
            return TemplateField(name, default)
    return part


def _regex(part: Part, any_topic: str) -> str:
    if isinstance(part, str):
        return re.escape(part)
    return any_topic if part.is_topic else "[^/]+"
