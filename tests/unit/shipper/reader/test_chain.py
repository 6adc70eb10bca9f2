import pytest

from shipper.event import MULTILINE, TRUNCATED
from shipper.reader import chain
from shipper.testing import ManualClock
from tests.builders import input_config, multiline
from tests.short_reads import LogOnDisk


def test_without_parsers_a_line_is_a_message(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\ntwo\n")
    run = chain.build(input_config(), log.open(), 100, clock).next()
    assert run is not None
    assert run.texts == ["one", "two"]


def test_empty_messages_are_dropped_and_stay_counted_in_the_run(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"\none\n\r\n\ntwo\n")
    run = chain.build(input_config(), log.open(), 100, clock).next()
    assert run is not None
    assert (run.texts, run.offsets, run.lengths) == (["one", "two"], [1, 8], [4, 4])
    assert (run.start, run.end) == (0, 12)


def test_flags_stay_with_their_message_when_others_are_dropped(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"\nfar too long\n")
    run = chain.build(input_config(), log.open(), 3, clock).next()
    assert run is not None
    assert (run.texts, run.flags) == (["far"], {0: (TRUNCATED,)})


def test_inside_a_joined_message_an_empty_line_counts(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\n\n b\nz\n")
    run = chain.build(input_config(multiline(r"^\s|^$")), log.open(), 100, clock).next()
    assert run is not None
    assert run.texts == ["a\n\n b"]


def test_parsers_work_in_the_order_given(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\n b\n-c\n d\nz\ny\n")
    reader = chain.build(input_config(multiline(r"^\s"), multiline("^-")), log.open(), 100, clock)
    run = reader.next()
    assert run is not None
    assert run.texts == ["a\n b\n-c\n d"]
    assert run.flags == {0: (MULTILINE,)}


@pytest.mark.parametrize("match", ["after", "before"])
def test_finish_goes_through_the_whole_chain(match: str, log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b" far too long\n")
    reader = chain.build(input_config(multiline(r"^\s", match=match)), log.open(), 4, clock)
    reader.next()
    ended = reader.finish()
    assert ended is not None
    assert (ended.texts, ended.flags, ended.end) == ([" far"], {0: (TRUNCATED,)}, 14)
    assert reader.pending_since is None
