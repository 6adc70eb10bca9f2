"""Parts of the document at /status, which the page and `shipper top` draw; the same for shipper and sink."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Document = dict[str, Any]


def table(
    name: str, title: str, empty: str, columns: Iterable[tuple[str, str, str]], rows: Iterable[Sequence[object]]
) -> Document:
    """Return a table. `columns`: id, label and kind of each: text, number, bytes, seconds or time. `empty` is shown if
    there are no rows.
    """
    return {
        "id": name,
        "title": title,
        "empty": empty,
        "columns": [{"id": column, "label": label, "kind": kind} for column, label, kind in columns],
        "rows": [list(row) for row in rows],
    }


def chart(
    name: str,
    title: str,
    unit: str,
    lines: Mapping[tuple[str, str], Sequence[float | None]],
    *,
    step: float,
    until: float,
) -> Document:
    """Return a chart. `lines`: the values of each by id and label, oldest first, None if unknown. `step`: seconds
    between points; `until`: unix time of the last one.
    """
    series = [{"id": line, "label": label, "values": values} for (line, label), values in lines.items()]
    return {"id": name, "title": title, "unit": unit, "step_seconds": step, "until": until, "series": series}
