"""The document of `/status` as values.

Unknown members are ignored, and missing ones are empty: top may be of another release than the program.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Bounds of what is shown; they are larger than what a program reports.
TOO_LARGE = 1e18
MAX_TIME = 2.0**37  # unix seconds, in the year 6325
MIN_STEP = 0.001  # seconds


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: float | None
    unit: str
    rate: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """A line; `values` are oldest first, None if unknown."""

    label: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    unit: str
    step: float  # seconds between two points
    until: float  # the time of the last point
    series: Sequence[Series]

    @property
    def newest(self) -> int:
        """Return the absolute number of the last point."""
        return round(self.until / self.step)


@dataclass(frozen=True, slots=True)
class Column:
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    empty: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """The document; `started` and `now` are unix seconds; `state` is ok, degraded, failing or starting."""

    program: str
    version: str
    name: str
    started: float
    now: float
    state: str
    text: str
    figures: Sequence[Figure] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()


def parse(body: bytes) -> Document:
    """Parse the document. Raises ValueError if it is not valid."""
    try:
        status = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError("/status is not a JSON document") from error
    if not isinstance(status, dict) or not isinstance(status.get("health"), dict):
        raise ValueError("/status has no health")
    health = status["health"]
    return Document(
        program=_text(status, "program"),
        version=_text(status, "version"),
        name=_text(status, "name") or _text(status, "host"),
        started=_time(status.get("started")),
        now=_time(status.get("now")),
        state=_text(health, "state"),
        text=_text(health, "text"),
        figures=[_figure(item) for item in _objects(status, "figures")],
        charts=[_chart(item) for item in _objects(status, "charts")],
        tables=[_table(item) for item in _objects(status, "tables")],
    )


def _figure(item: Mapping[str, Any]) -> Figure:
    return Figure(_text(item, "label"), _number(item.get("value")), _text(item, "unit"), _number(item.get("rate")))


def _chart(item: Mapping[str, Any]) -> Chart:
    series = [
        Series(_text(one, "label"), [_number(value) for value in _list(one, "values")])
        for one in _objects(item, "series")
    ]
    step, until = max(_number(item.get("step_seconds")) or 1.0, MIN_STEP), _number(item.get("until")) or 0.0
    return Chart(_text(item, "title"), _text(item, "unit"), step, until, series)


def _table(item: Mapping[str, Any]) -> Table:
    columns = [Column(_text(one, "label"), _text(one, "kind")) for one in _objects(item, "columns")]
    rows = [list(map(_cell, row)) for row in _list(item, "rows") if isinstance(row, list)]
    padded = [[*row, *[None] * len(columns)][: len(columns)] for row in rows]
    return Table(_text(item, "title"), _text(item, "empty"), columns, padded)


def _cell(value: object) -> object:
    return _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _objects(item: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [one for one in _list(item, name) if isinstance(one, dict)]


def _list(item: Mapping[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else []


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _time(value: object) -> float:
    return min(max(_number(value) or 0.0, 0.0), MAX_TIME)


def _number(value: object) -> float | None:
    """Return the number; None for another value, for NaN and for one that is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < TOO_LARGE else None
