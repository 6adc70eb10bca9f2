"""Chooses the table of each row by the template in `table.path`.

A value becomes the name of one directory, whatever a record contains: it cannot lead to another place in the file
system, or into a table's log.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from log_shipper.spark_sink.options.template import Template, TemplateField
from log_shipper.spark_sink.rows.json_text import HIGHEST, LOWEST, Json, Number, write
from log_shipper.spark_sink.rows.kinds import kind_of

MAX_NAME_LENGTH = 128  # characters of a value; a file system allows names of 255 bytes
_OTHER = re.compile(r"[^A-Za-z0-9._-]")
_DOTS = re.compile(r"\A[.]+")


@dataclass(frozen=True, slots=True)
class Routes:
    """Chooses the table of each row."""

    template: Template

    @property
    def fields(self) -> tuple[TemplateField, ...]:
        """Return the fields of records that choose the table, in their order."""
        return tuple(field for field in self.template.fields if not field.is_topic)

    def table(self, topic: str, values: Sequence[str | None]) -> str:
        """Return the path of a table. `values`: of `fields`; only those of fields with a default may be None."""
        remaining = iter(values)
        parts = []
        for part in self.template.parts:
            if isinstance(part, str):
                parts.append(part)
            else:
                value = topic if part.is_topic else next(remaining)
                parts.append(_directory(value) if value is not None else part.default or "")
        return "".join(parts)


def missing(field: TemplateField, value: Json) -> str | None:
    """Return why a record belongs to no table, None if it does."""
    if field.default is not None or route_value(value) is not None:
        return None
    return f"missing {field.name}, needed by table.path to choose the table"


def route_value(value: Json) -> str | None:
    """Return a text, number or boolean as text; None for an empty text and all other values."""
    match value:
        case str():
            return value or None
        case bool():
            return "true" if value else "false"
        case int() if LOWEST <= value <= HIGHEST:
            return str(value)
        case None | list() | dict():
            return None
        case _:
            return _number(value)


@lru_cache(maxsize=1024)
def _directory(value: str) -> str:
    name = _DOTS.sub(
        "_", _OTHER.sub("_", value)[:MAX_NAME_LENGTH]
    )  # `.` and `..` are other directories, `.a` is hidden
    # A directory of this name would make its parent directory a table.
    return "_delta_log_" if name == "_delta_log" else name


def _number(value: Json) -> str:
    """Return a number as Spark writes it: without trailing zeros, and large or small ones with an exponent."""
    written = write(value)
    text = written.decode()
    if kind_of(Number(written)).startswith("DECIMAL"):
        whole, _, fraction = text.partition(".")
        plain = f"{whole}.{fraction.rstrip('0')}".rstrip(".")
        return "0" if plain == "-0" else plain
    double = float(text)
    if abs(double) == float("inf"):
        return "Infinity" if double > 0 else "-Infinity"
    return _like_java(double)


def _like_java(double: float) -> str:
    if double == 0 or 1e-3 <= abs(double) < 1e7:
        plain = format(Decimal(repr(double)), "f")
        return plain if "." in plain else f"{plain}.0"
    sign, digits, exponent = Decimal(repr(double)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"
