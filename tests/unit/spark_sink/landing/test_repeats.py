"""Repeats of the shipper are distinguished from new rows. Real Delta tables, no Kafka."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from log_shipper.spark_sink.landing.repeats import MAX_IDS
from log_shipper.spark_sink.options.parts import DedupeConfig
from tests.unit.spark_sink.landing.landing_lab import LandingLab

DAY = 86400.0


def test_new_rows_need_no_look_up(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10, 20)
    landed = lab.land()
    assert (landed.rows, landed.repeats, landed.suspects) == (3, 0, 0)
    lab.send_lines(30, 40)
    lab.send_lines(0, file="g")
    landed = lab.land()
    assert (landed.rows, landed.repeats, landed.suspects) == (3, 0, 0)
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20), ("f", 30), ("f", 40), ("g", 0)]


def test_what_a_killed_shipper_sends_again_lands_once(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10, 20)
    lab.land()
    lab.send_lines(10, 20, 30)
    landed = lab.land()
    assert (landed.rows, landed.repeats, landed.suspects) == (1, 2, 1)
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20), ("f", 30)]


def test_texts_that_are_sent_again_land_once_as_json_does(lab: LandingLab) -> None:
    lab.start()
    lab.send_texts(0, 10, 20, 10)
    assert (lab.land().rows, lab.lines()) == (3, [("f", 0), ("f", 10), ("f", 20)])
    lab.send_texts(10, 20, 30, partition=1)
    lab.send_lines(20, 40)  # the codec was changed, and the shipper killed
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (2, 3)
    assert [row.message for row in lab.rows()] == [f"f@{n}" for n in range(0, 50, 10)]


def test_original_and_repeat_in_one_batch_land_once_and_the_longest_stays(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10, 20, 10, 20)
    lab.send_lines(20, length=15, message="longer")
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (3, 3)
    assert [row.message for row in lab.rows()] == ["f@0", "f@10", "longer"]


def test_a_dead_letter_that_is_sent_later_below_the_mark_is_new_once(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 20)
    lab.land()
    lab.send_lines(10)
    assert (lab.land().rows, lab.lines()) == (1, [("f", 0), ("f", 10), ("f", 20)])
    lab.send_lines(10)
    assert (lab.land().rows, lab.lines()) == (0, [("f", 0), ("f", 10), ("f", 20)])


def test_partitions_that_bring_a_file_in_any_order_lose_nothing(lab: LandingLab) -> None:
    """A changed partition count: the later lines of a file are read before the earlier ones."""
    lab.start()
    lab.send_lines(30, 40, partition=1)
    lab.land()
    lab.send_lines(0, 10, 20, 30, partition=0)
    assert lab.land().repeats == 1
    assert lab.lines() == [("f", offset) for offset in (0, 10, 20, 30, 40)]


def test_two_topics_fed_by_one_file_give_each_line_once(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10, topic="logs")
    lab.send_lines(0, 10, 20, topic="copy")
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]


def test_a_longer_row_is_no_repeat_of_a_shorter_one(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    lab.send_lines(10, length=25)
    assert lab.land().rows == 1
    lab.send_lines(10, length=20)
    assert lab.land().rows == 0
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 10)]


def test_files_of_one_id_on_two_hosts_and_rows_without_a_file_are_apart(lab: LandingLab) -> None:
    lab.start()
    for host in ("web-1", "web-2", None, None):
        lab.send_lines(0, host=host)
    no_file = lab.line(0, log={})
    lab.send(no_file, no_file)
    lab.land()
    lab.send(no_file)
    lab.send_lines(0, host=None)
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (1, 1)
    assert len(lab.rows()) == 6


def test_a_repeat_is_found_on_the_day_it_landed_first(lab: LandingLab) -> None:
    """@timestamp is the time read, so a line that is read again has another date."""
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    lab.now += 3 * DAY
    lab.start()
    lab.send_lines(10, 20)
    assert lab.land().repeats == 1
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]


@pytest.mark.parametrize("ahead", [0, 60], ids=["", "its host's clock was ahead"])
def test_a_file_that_was_forgotten_is_looked_up_when_it_goes_on(lab: LandingLab, ahead: float) -> None:
    lab.start()
    lab.now += ahead * DAY
    lab.send_lines(0, 10)
    lab.now -= ahead * DAY
    lab.land()
    lab.now += 30 * DAY
    lab.send_lines(0, file="g")
    lab.land()
    assert [file for _, file in lab.writer.marks.of_table(lab.config.table.path)] == ["g"]
    lab.send_lines(10, 20)
    landed = lab.land()
    assert (landed.rows, landed.repeats, landed.suspects) == (1, 1, 1)


def test_marks_are_known_to_the_next_process_and_old_ones_are_not_read(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    lab.now += 10 * DAY
    lab.send_lines(20)
    lab.land()
    lab.start()
    assert lab.writer.marks.of_table(lab.config.table.path)["web-1", "f"].offset == 20
    assert lab.writer.marks.of_table(lab.config.table.path)["web-1", "f"].first.isoformat() == "2026-11-21"
    lab.now += 20 * DAY
    lab.start()
    assert lab.writer.marks.count == 0


def test_without_dedupe_repeats_land_like_everything_else(make_lab: Callable[..., LandingLab]) -> None:
    lab = make_lab(dedupe=DedupeConfig(enabled=False))
    lab.start()
    lab.send_lines(0, 10, 10)
    landed = lab.land()
    lab.send_lines(10)
    lab.land()
    assert (landed.rows, landed.repeats) == (3, 0)
    assert len(lab.rows()) == 4
    lab.config = replace(lab.config, dedupe=DedupeConfig())
    lab.start()
    lab.send_lines(20)
    assert lab.land().rows == 1


HOSTILE = ["it's", "') OR true --", "a\\", "\n", "nul\0l", "\u2028ü", "%", '"', ""]


@pytest.mark.parametrize("length", [1, MAX_IDS])
def test_an_id_is_compared_whatever_a_record_has_put_into_it(lab: LandingLab, length: int) -> None:
    ids = [text * length for text in HOSTILE[:2]] if length > 1 else HOSTILE
    lab.start()
    for text in ids:
        lab.send_lines(0, 10, file=text)
    assert lab.land().rows == 2 * len(ids)
    for text in ids:
        lab.send_lines(10, 20, file=text)
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (len(ids), len(ids))


def test_rows_without_a_host_are_repeats_of_each_other_alone(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10, host=None)
    lab.send_lines(0, 10, host="")
    assert lab.land().rows == 4
    lab.send_lines(10, 20, host=None)
    lab.send_lines(10, host="web-2")
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (2, 1)
