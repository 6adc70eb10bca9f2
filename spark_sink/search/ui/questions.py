"""Translates the parameters of a request from the page to a query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search import terms
from log_shipper.spark_sink.search.moments import parse_moment
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.terms import Term

MAX_CHARACTERS = 2000  # of user input
MAX_TERMS = 25


@dataclass(frozen=True, slots=True)
class Question:
    """A search of the page. `text`: the terms; `where`: the SQL condition."""

    since: datetime | None
    until: datetime | None
    text: Sequence[Term]
    where: str

    @property
    def by_files(self) -> Query:
        """The part of the query that the statistics of data files can filter."""
        return Query(since=self.since, until=self.until, hosts=terms.hosts(self.text))

    def query(self, schema: pa.Schema, judge: ConditionFilter) -> Query:
        """Return the query for tables with these columns. Raises SinkError."""
        parts = [f"({typed})"] if (typed := terms.condition(self.text, schema)) else []
        for name, sql in (("the search", typed), ("the SQL condition", self.where)):
            if sql:
                judge.columns(name, sql, schema)
        if self.where:
            parts.append(f"(\n{self.where}\n)")
        return Query(since=self.since, until=self.until, where=" AND ".join(parts))


def question(parameters: Mapping[str, str], now: datetime) -> Question:
    """Return the question of a request. Raises SinkError."""
    for name, text in (("q", "search"), ("where", "SQL condition")):
        if len(parameters.get(name, "")) > MAX_CHARACTERS:
            raise SinkError(f"the {text} is too long (maximum: {MAX_CHARACTERS} characters)")
    since, until = (moment(parameters.get(name, ""), now) for name in ("since", "until"))
    if since and until and since > until:
        raise SinkError(f"the time range is empty: it begins at {since.isoformat()} and ends at {until.isoformat()}")
    typed = terms.parse(parameters.get("q", ""))
    if len(typed) > MAX_TERMS:
        raise SinkError(f"the search has {len(typed)} words (maximum: {MAX_TERMS})")
    return Question(since, until, typed, parameters.get("where", "").strip())


def number(parameters: Mapping[str, str], name: str, default: int, maximum: int) -> int:
    """Return a number from 1 to `maximum`. Raises SinkError."""
    text = parameters.get(name, str(default))
    if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= maximum:
        raise SinkError(f"{name} is {text[:20]!r}: must be 1 to {maximum}")
    return int(text)


def moment(text: str, now: datetime) -> datetime | None:
    """Return the time of a text, None if it is empty. Raises SinkError."""
    try:
        return parse_moment(text).resolved(now, UTC) if text else None
    except ValueError as error:
        raise SinkError(str(error)) from error
