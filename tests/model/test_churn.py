"""Files that are created and deleted one after the other: what the agent keeps of them must not add up."""

import gzip
import os
from collections.abc import Iterator

import pytest

from log_shipper.shipper.source.crawler import Crawler
from log_shipper.shipper.source.identity.entries import KEPT_FOR
from log_shipper.shipper.source.lifecycle.cleaning import BOOT_TIME
from tests.lab import CHECK_INTERVAL, Lab


def live_and_die(lab: Lab, number: int, files: int) -> None:
    """Of three files, one is removed when it is read, one is truncated before, and one cannot be read as text."""
    plain, truncated, zipped = (
        [f"{number}-{file}-{kind}.log" for file in range(files)] for kind in ("plain", "truncated", "zipped")
    )
    for file in range(files):
        line = f"line {number} {file}\n"
        (lab.logs / plain[file]).write_text(line)
        (lab.logs / truncated[file]).write_text(line * 5)
        (lab.logs / zipped[file]).write_bytes(gzip.compress(line.encode()) + b"\n")
    lab.calm_down()
    for name in truncated:
        os.truncate(lab.logs / name, 0)
    lab.calm_down()
    for name in (*plain, *truncated, *zipped):
        lab.remove(name)
    lab.calm_down()


def kept_for_files(crawler: Crawler) -> Iterator[int]:
    """Yield how many entries each table has that is kept by file."""
    entries, files = crawler._entries, crawler.open_files
    for book in (
        files.files,
        files.files.running_of,
        files.idle._changed,
        files.idle._idle,
        files.removed._sizes,
        files.removed._by_age,
        files.removed._bytes,
        files.named._by,
        files.named._keys,
        crawler._closer._refused,
        crawler._closer._timed,
        crawler.scheduler._deadlines,
        crawler.scheduler.unwatched,
        entries.closed_entries,
        entries.unclaimed.states,
        entries.unclaimed._by,
        entries.unclaimed._refused,
        entries._closed,
        entries.possibly_lost._lost,
        entries.possibly_lost._tried,
    ):
        yield len(book)


def churn(lab: Lab, rounds: int, files: int) -> None:
    lab.start()
    for number in range(rounds):
        live_and_die(lab, number, files)
    crawler = lab.crawler
    assert len(crawler._entries.unclaimed.states) == 4 * rounds * files  # a truncated file has two lives
    for seconds in (BOOT_TIME, KEPT_FOR, CHECK_INTERVAL):
        lab.step(seconds)
    assert set(kept_for_files(crawler)) == {0}


def test_nothing_is_left_of_short_lived_files_but_their_entries_and_of_these_nothing_after_a_day(lab: Lab) -> None:
    churn(lab, 10, 2)


@pytest.mark.slow("long")
def test_nor_of_ten_thousand(lab: Lab) -> None:
    churn(lab, 34, 100)
