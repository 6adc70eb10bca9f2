"""The columns that the configuration adds to a table of lines: `columns:`, each a path in the record and a type.

A value of another type gives NULL and stays in `doc`. A value that the column stores in another form also stays there:
a time, a date, a number with more digits than a double has.
"""

from dataclasses import dataclass

from log_shipper.spark_sink.options.tables import ColumnConfig, ColumnType
from log_shipper.spark_sink.records.schema import Column
from log_shipper.spark_sink.rows.json_text import HIGHEST, LOWEST, Json, Number
from log_shipper.spark_sink.rows.kinds import kind_of
from log_shipper.spark_sink.rows.times import day_of, is_in_range, micros_of

_WORDS: dict[ColumnType, str] = {
    "string": "text",
    "boolean": "true or false",
    "int": "a whole number of 32 bits",
    "bigint": "a whole number of 64 bits",
    "double": "a number",
    "timestamp": "a time as text",
    "date": "a date as text",
    "array<string>": "a list of texts",
}
_HOLDS_ALL: set[ColumnType] = {"string", "boolean", "int", "bigint", "array<string>"}
_MIN_DATE_LENGTH = 10  # characters: "2026" is not a date
_EXACT_IN_DOUBLE = 2**53


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """One entry of `columns:`."""

    config: ColumnConfig

    @property
    def column(self) -> Column:
        return Column(self.config.name, self.config.type.upper(), self.config.comment or self.config.path)

    def value(self, value: Json) -> Json:
        """Return the value of the column: times as microseconds and dates as days since the epoch, None if the value
        does not fit."""
        match self.config.type:
            case "string":
                return value if isinstance(value, str) else None
            case "boolean":
                return value if isinstance(value, bool) else None
            case "int":
                return _whole(value, -(2**31), 2**31 - 1)
            case "bigint":
                return _whole(value, LOWEST, HIGHEST)
            case "double":
                return _double(value)
            case "timestamp":
                micros = micros_of(value) if isinstance(value, str) else None
                return micros if micros is not None and is_in_range(micros) else None
            case "date":
                return day_of(value) if isinstance(value, str) and len(value) >= _MIN_DATE_LENGTH else None
            case _:
                return value if _is_list_of_texts(value) else None

    def holds(self, value: Json, stored: Json) -> bool:
        """Return True if the column has the complete value, so that `doc` does not need it."""
        if stored is None:
            return False
        if self.config.type == "double":
            return isinstance(value, float) or (isinstance(value, int) and abs(value) <= _EXACT_IN_DOUBLE)
        return self.config.type in _HOLDS_ALL

    def reason(self, value: Json) -> str | None:
        """Return why a record with this value is bad, None if it is not. `value` is exact (`json_text`)."""
        if not self.config.required or self.value(value) is not None:
            return None
        if value is None:
            return f"missing {self.config.path}, required by the column {self.config.name}"
        return wrong_type(self.config.path, value, _WORDS[self.config.type])


def wrong_type(path: str, value: Json, expected: str) -> str:
    return f"wrong type: {path} is {kind_of(value)}, not {expected}"


def _whole(value: Json, lowest: int, highest: int) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest
    return value if fits else None


def _double(value: Json) -> float | None:
    if isinstance(value, Number):
        return float(bytes(value))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_list_of_texts(value: Json) -> bool:
    return isinstance(value, list) and all(inner is None or isinstance(inner, str) for inner in value)
