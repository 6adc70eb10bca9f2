"""include_lines, exclude_lines and include_message."""

import pytest

from log_shipper.shipper.event import MULTILINE, Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.reader.select import select
from tests.builders import messages
from tests.given_runs import GivenRuns

LINES = ["ERR disk", "DBG disk", "WARN net", "", "ERR net"]


def selected(run: Messages, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> tuple[Messages, int]:
    metrics = Metrics()
    kept = select(GivenRuns(run), include, exclude, metrics).next()
    assert kept is not None
    return kept, metrics.events_filtered


@pytest.mark.parametrize(
    ("include", "exclude", "kept", "filtered"),
    [
        (("^ERR",), (), ["ERR disk", "ERR net"], 2),
        (("^ERR", "^WARN"), (), ["ERR disk", "WARN net", "ERR net"], 1),
        ((), ("^DBG",), ["ERR disk", "WARN net", "", "ERR net"], 1),
        ((), ("^DBG", "net$"), ["ERR disk", ""], 3),
        (("disk",), ("^DBG",), ["ERR disk"], 3),
        (("nowhere",), ("^DBG",), [], 4),
        (("",), ("",), [], 4),
        (("",), (), LINES, 0),
    ],
)
def test_a_message_stays_if_it_is_included_and_not_excluded(
    include: tuple[str, ...], exclude: tuple[str, ...], kept: list[str], filtered: int
) -> None:
    """A message that is empty is no event, and not counted as one that was dropped."""
    run, counted = selected(messages(LINES), include, exclude)
    assert (run.texts, counted) == (kept, filtered)


def test_what_stays_keeps_its_columns_and_the_run_its_bytes() -> None:
    run = messages(["a", "x", "bc"], start=10)
    run.flags = {2: (MULTILINE,)}
    run.docs = [{}, {"n": 1}, {"n": 2}]
    run.cut = True
    kept, _ = selected(run, exclude=("x",))
    assert (kept.start, kept.end, kept.offsets, kept.lengths) == (10, 17, [10, 14], [2, 3])
    assert (kept.flags, kept.docs, kept.cut) == ({1: (MULTILINE,)}, [{}, {"n": 2}], True)


def test_an_event_without_a_message_is_asked_about_the_empty_text() -> None:
    run = messages(["", ""])
    run.docs = [{"a": 1}, {}]
    assert selected(run, include=("a",)) == (Messages(0, 2, docs=[]), 1)
