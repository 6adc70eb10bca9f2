"""Files that live for a moment, one after the other: what the agent keeps must not add up."""

import gzip
import os
from collections.abc import Iterator

import pytest

from shipper.source.cleaning import BOOT_TIME
from shipper.source.crawler import Crawler
from shipper.source.entries import KEPT_FOR
from tests.lab import CHECK_INTERVAL, Lab


def live_and_die(lab: Lab, number: int) -> None:
    """One is removed when it was read, one was truncated before, one is none that can be read as text."""
    names = [f"{number}-{kind}.log" for kind in ("plain", "truncated", "zipped")]
    (lab.logs / names[0]).write_text(f"line {number}\n")
    (lab.logs / names[1]).write_text(f"line {number}\n" * 5)
    (lab.logs / names[2]).write_bytes(gzip.compress(f"line {number}\n".encode()) + b"\n")
    lab.calm_down()
    os.truncate(lab.logs / names[1], 0)
    lab.calm_down()
    for name in names:
        lab.remove(name)
    lab.calm_down()


def kept_for_files(crawler: Crawler) -> Iterator[int]:
    """How many things there are in each book that is kept by file."""
    entries, opener = crawler._entries, crawler._opener
    for book in (
        crawler.running, crawler.fleet.closed, crawler.fleet.draining, crawler._copies.held,
        entries.asleep, entries.orphans.states, entries.orphans._by, entries.orphans._refused, entries._closed,
        entries.doubts._why, entries.doubts._tried, opener._told_of_gzip, opener._told_of_twins, opener.reborn,
    ):  # fmt: skip
        yield len(book)


def churn(lab: Lab, rounds: int) -> None:
    lab.start()
    for number in range(rounds):
        live_and_die(lab, number)
    crawler = lab.running.loop.crawler
    assert isinstance(crawler, Crawler)
    assert len(crawler._entries.orphans.states) == 4 * rounds  # what is truncated has two lives
    for seconds in (BOOT_TIME, KEPT_FOR, CHECK_INTERVAL):
        lab.step(seconds)
    assert set(kept_for_files(crawler)) == {0}


def test_nothing_is_left_of_short_lived_files_but_their_entries_and_of_these_nothing_after_a_day(lab: Lab) -> None:
    churn(lab, 10)


@pytest.mark.slow("long")
def test_nor_of_ten_thousand(lab: Lab) -> None:
    churn(lab, 3_400)
