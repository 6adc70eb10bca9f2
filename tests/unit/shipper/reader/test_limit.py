import pytest

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Messages
from log_shipper.shipper.reader.limit import LimitReader
from tests.builders import messages


class OneRun:
    """A reader that has one run to give."""

    pending_since = 7.0

    def __init__(self, run: Messages) -> None:
        self._run: Messages | None = run

    def next(self) -> Messages | None:
        run, self._run = self._run, None
        return run

    finish = next


@pytest.mark.parametrize("name", ["next", "finish"])
def test_a_long_message_is_cut_and_flagged_and_keeps_its_raw_length(name: str) -> None:
    run = messages(["short", "much longer"])
    limited = getattr(LimitReader(OneRun(run), 5), name)()
    assert limited.texts == ["short", "much "]
    assert limited.flags == {1: (TRUNCATED,)}
    assert limited.lengths == [6, 12]


def test_replacement_characters_count_with_their_own_size() -> None:
    run = Messages(0, 3, ["\ufffd\ufffd"], [0], [3])
    assert LimitReader(OneRun(run), 5).next() == Messages(0, 3, ["\ufffd"], [0], [3], {0: (TRUNCATED,)})


def test_other_flags_stay_and_all_come_in_one_order() -> None:
    run = messages(["much longer"])
    run.flags[0] = (MULTILINE,)
    limited = LimitReader(OneRun(run), 5).next()
    assert limited is not None
    assert limited.flags[0] == (MULTILINE, TRUNCATED)


def test_nothing_is_changed_where_everything_fits() -> None:
    run = messages(["a", "b"])
    assert LimitReader(OneRun(run), 10).next() == messages(["a", "b"])


def test_the_time_of_a_pending_message_is_passed_through() -> None:
    assert LimitReader(OneRun(messages([])), 10).pending_since == 7.0
