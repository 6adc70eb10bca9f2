"""Parts of the document at /status, which the page and `shipper top` draw: one shape for the shipper and the sink."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Document = dict[str, Any]


def table(
    name: str, title: str, empty: str, columns: Iterable[tuple[str, str, str]], rows: Iterable[Sequence[object]]
) -> Document:
    """`columns`: id, label and kind of each, which is text, number, bytes, seconds or time. `empty` is shown where
    there are no rows."""
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
    """`lines`: the values of each by its id and label, oldest first, None where it is unknown. `step`: seconds between
    two points; `until`: unix time of the last one."""
    series = [{"id": line, "label": label, "values": values} for (line, label), values in lines.items()]
    return {"id": name, "title": title, "unit": unit, "step_seconds": step, "until": until, "series": series}
