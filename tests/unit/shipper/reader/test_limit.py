import pytest

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Messages
from log_shipper.shipper.reader.limit import limit
from tests.builders import messages
from tests.given_runs import GivenRuns


@pytest.mark.parametrize("name", ["next", "finish"])
def test_a_long_message_is_cut_and_flagged_and_keeps_its_raw_length(name: str) -> None:
    run = messages(["short", "much longer"])
    limited = getattr(limit(GivenRuns(run, ending=run), 5), name)()
    assert limited.texts == ["short", "much "]
    assert limited.flags == {1: (TRUNCATED,)}
    assert limited.lengths == [6, 12]


def test_replacement_characters_count_with_their_own_size() -> None:
    run = Messages(0, 3, ["\ufffd\ufffd"], [0], [3])
    assert limit(GivenRuns(run), 5).next() == Messages(0, 3, ["\ufffd"], [0], [3], {0: (TRUNCATED,)})


def test_other_flags_stay_and_all_come_in_one_order() -> None:
    run = messages(["much longer"])
    run.flags[0] = (MULTILINE,)
    limited = limit(GivenRuns(run), 5).next()
    assert limited is not None
    assert limited.flags[0] == (MULTILINE, TRUNCATED)


def test_nothing_is_changed_where_everything_fits() -> None:
    run = messages(["a", "b"])
    assert limit(GivenRuns(run), 10).next() == messages(["a", "b"])


def test_empty_messages_go_but_not_those_that_have_members() -> None:
    run = messages(["", "a", "", ""])
    run.docs = [{}, {}, {"b": 1}, {}]
    kept = limit(GivenRuns(run), 10).next()
    assert kept is not None
    assert (kept.texts, kept.docs, kept.offsets, kept.end) == (["a", ""], [{}, {"b": 1}], [1, 3], 5)


def test_a_text_of_which_the_cut_leaves_nothing_goes_too() -> None:
    assert limit(GivenRuns(["é", "a"]), 1).next() == Messages(0, 5, ["a"], [3], [2])
