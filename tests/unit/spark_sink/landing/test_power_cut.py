"""A power cut takes what was not fsynced: each such file is lost, empty or full of zeros afterwards, or intact.
Whatever it was, all that was sent lands once."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab
from tests.unit.spark_sink.landing.test_kills import expect_all, send_a_batch

MOMENTS = ["before rows", "after rows", "after bad", "after marks", "before commit", ""]


class Synced:
    """The files that this process has opened by `os.open`, which nothing but the fsync of files does here."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self._listening = True
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if event == "open" and self._listening and details[1] is None and isinstance(details[0], Path | str):
            self.paths.add(Path(details[0]))

    def stop(self) -> None:
        """Hear nothing any more. A hook cannot be removed."""
        self._listening = False


@contextmanager
def listening() -> Iterator[Synced]:
    synced = Synced()
    try:
        yield synced
    finally:
        synced.stop()


def cut_power(directory: Path, synced: set[Path], dice: Random) -> None:
    """Leave of each file that was not fsynced what a power cut may leave."""
    for path in sorted(path for path in directory.rglob("*") if path.is_file() and path not in synced):
        match dice.choice(["lost", "empty", "zeros", "intact"]):
            case "lost":
                path.unlink()
            case "empty":
                path.write_bytes(b"")
            case "zeros":
                path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("batches", [1, pytest.param(2, marks=pytest.mark.slow("one batch is in the gate"))])
def test_after_a_power_cut_everything_lands_once(lab: LandingLab, moment: str, batches: int, seed: int) -> None:
    with listening() as synced:
        lab.start()
        for number in range(batches - 1):
            send_a_batch(lab, 50 * number)
            lab.land()
        send_a_batch(lab, 50 * (batches - 1))
        if moment:
            with pytest.raises(Killed):
                lab.land(moment)
        else:
            lab.land()
        cut_power(lab.directory, synced.paths, Random(f"{seed} {moment} {batches}"))
        lab.start()
        for number in range(batches, 3):
            send_a_batch(lab, 50 * number)
            lab.land()
        lab.land()
    expect_all(lab)
