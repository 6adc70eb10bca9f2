"""Which rows match."""

import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.query import Query
from tests.unit.spark_sink.search.search_lab import Table, line, lines, search


@pytest.fixture
def mixed(table: Table) -> Table:
    table.land([line("an ERROR", 3), line("an error", 2), line("50% [a.b] (c)", 1), line(None, 0)])
    return table


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["error"], ["an ERROR", "an error"]),
        (["ERROR"], ["an ERROR"]),
        (["-s", "error"], ["an error"]),
        (["-i", "ErroR"], ["an ERROR", "an error"]),
        (["[A.b]", "-i"], ["50% [a.b] (c)"]),
        (["0% [a.b] (c)"], ["50% [a.b] (c)"]),
        ([".*"], []),
        (["--regex", "err.r$"], ["an ERROR", "an error"]),
        (["--regex", "^an E"], ["an ERROR"]),
        (["--regex", r"^\S+ err"], ["an ERROR", "an error"]),
        (["--regex", r"^\d+%"], ["50% [a.b] (c)"]),
    ],
    ids=str,
)
def test_the_text(arguments: list[str], messages: list[str], mixed: Table) -> None:
    assert search(mixed, *arguments).messages == messages


def test_a_message_that_is_null_has_no_text_and_is_a_line(mixed: Table) -> None:
    assert search(mixed).messages[-1] == ""
    assert "" not in search(mixed, "a").messages


def test_letters_are_folded_in_all_alphabets(table: Table) -> None:
    table.land([line("ÄRGER mit Kafka")])
    assert search(table, "ärger").messages == ["ÄRGER mit Kafka"]


def test_ends_of_a_line_are_those_within_the_message(table: Table) -> None:
    table.land([line("one\ntwo\nthree")])
    assert search(table, "--regex", "^two$").code == 0
    assert search(table, "--regex", "one.two").code == 1


def test_a_class_of_a_regular_expression_is_no_upper_case_letter() -> None:
    assert Query(r"\Sa\pLb\p{Greek}", regex=True).ignores_case
    assert not Query(r"\SA", regex=True).ignores_case


def test_a_regular_expression_takes_time_in_proportion_to_the_text(table: Table) -> None:
    """One that tries all ways to match would not end."""
    table.land([line("a" * 50_000 + "c")])
    assert search(table, "--regex", "(a|aa|a*)*b").code == 1


@pytest.mark.parametrize("pattern", ["a(b", "(?=a)", "((a{100}){100}){100}"])
def test_what_is_no_regular_expression_is_refused(pattern: str, table: Table) -> None:
    with pytest.raises(SinkError, match="is not a regular expression in RE2 syntax: "):
        search(table, "--regex", pattern)


def test_what_is_no_glob_is_refused(table: Table) -> None:
    with pytest.raises(SinkError, match="is not a valid glob"):
        search(table, "--path", "[a")


def test_hosts_and_paths_are_globs(table: Table) -> None:
    rows = [("web-1", "/var/log/app.log"), ("web-2", "/var/log/app/a b.log"), ("db-1", "/srv/app.txt"), (None, None)]
    table.land([line(f"{host}", second, host=host, path=path) for second, (host, path) in enumerate(rows)])

    def hosts(*arguments: str) -> list[str]:
        return sorted(row["message"] for row in search(table, "--json", *arguments).rows)

    assert hosts("--host", "web-1") == ["web-1"]
    assert hosts("--host", "web-*") == ["web-1", "web-2"]
    assert hosts("--host", "web-2", "--host", "db-1") == ["db-1", "web-2"]
    assert hosts("--path", "*.log") == ["web-1", "web-2"]
    assert hosts("--path", "app.log") == ["web-1"]
    assert hosts("--path", "/var/log/*.log") == ["web-1"]
    assert hosts("--path", "/var/**/*.log") == ["web-1", "web-2"]
    assert hosts("--path", "/srv/**") == ["db-1"]
    assert hosts("--path", "/var/log/app/a b.log") == ["web-2"]
    assert hosts("--path", "a b.lo[g-z]") == ["web-2"]
    assert hosts("--path", "app.t?t", "--path", "/var/log/app.log") == ["db-1", "web-1"]
    assert hosts("--path", "?pp") == []


def test_since_and_until_include_their_times(table: Table) -> None:
    table.land(lines(0, 1, 2, 3))
    printed = search(table, "--since", "2026-11-21T12:00:01Z", "--until", "2026-11-21T13:00:02+01:00")
    assert printed.messages == ["line 2", "line 1"]
    assert search(table, "--since", "2026-11-22").code == 1
    assert search(table, "--since", "1m").code == 1
    assert len(search(table, "--since", "36500d").lines) == 4
