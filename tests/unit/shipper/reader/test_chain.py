from dataclasses import replace
from typing import Literal

import pytest

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.parsers.include_message import IncludeMessageConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.reader import chain
from tests.builders import input_config, multiline
from tests.fakes import ManualClock
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
def test_finish_goes_through_the_whole_chain(
    match: Literal["after", "before"], log: LogOnDisk, clock: ManualClock
) -> None:
    log.write(b" far too long\n")
    reader = chain.build(input_config(multiline(r"^\s", match=match)), log.open(), 4, clock)
    reader.next()
    ended = reader.finish()
    assert ended is not None
    assert (ended.texts, ended.flags, ended.end) == ([" far"], {0: (TRUNCATED,)}, 14)
    assert reader.pending_since is None


LEVELS = b'{"msg": "ERR a", "n": 1}\n{"msg": "  b"}\n{"msg": "DBG c"}\n\n{"msg": "ERR d"}\n{"msg": "ERR e"}\n'


def test_a_message_key_is_what_the_parsers_and_filters_behind_it_see(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(LEVELS)
    config = replace(
        input_config(NdjsonConfig(message_key="msg"), multiline(r"^\s")), include_lines=("ERR",), exclude_lines=("d$",)
    )
    metrics = Metrics()
    run = chain.build(config, log.open(), 100, clock, metrics=metrics).next()
    assert run is not None
    assert (run.texts, run.docs) == (["ERR a\n  b"], [{"msg": "  b", "n": 1}])
    assert (run.start, run.end) == (0, len(LEVELS) - len(b'{"msg": "ERR e"}\n'))
    assert metrics.events_filtered == 2


def test_include_message_works_at_its_place_in_the_chain(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"+ a\n# b\n+ c\n\n  d\n+ e\n")
    metrics = Metrics()
    kept = IncludeMessageConfig(patterns=(r"^\+", r"^\s"))
    run = chain.build(input_config(kept, multiline(r"^\s")), log.open(), 100, clock, metrics=metrics).next()
    assert run is not None
    assert (run.texts, run.offsets, run.lengths) == (["+ a", "+ c\n  d"], [0, 8], [4, 9])
    assert metrics.events_filtered == 1


def test_a_filter_looks_at_what_is_left_of_a_message_that_was_cut(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one and two\ntwo\n")
    run = chain.build(replace(input_config(), exclude_lines=("two",)), log.open(), 7, clock).next()
    assert run is not None
    assert run.texts == ["one and"]


def test_a_json_line_that_is_cut_is_a_text(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b'{"a": "' + b"x" * 100 + b'"}\n{"a": 1}\n')
    run = chain.build(input_config(NdjsonConfig()), log.open(), 50, clock).next()
    assert run is not None
    assert [len(text) for text in run.texts] == [50, 0]
    assert (run.flags, run.docs) == ({0: (TRUNCATED,)}, [{}, {"a": 1}])


@pytest.mark.parametrize(("keep_null", "doc"), [(True, {"a": None, "b": 1}), (False, {"b": 1})])
def test_keep_null_is_for_all_of_the_input(keep_null: bool, doc: Doc, log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b'{"a": null, "b": 1}\n')
    run = chain.build(replace(input_config(NdjsonConfig()), keep_null=keep_null), log.open(), 50, clock).next()
    assert run is not None
    assert run.docs == [doc]
