"""Readings in pieces: reads of random sizes, and a file that grows while it is read."""

import random
from collections.abc import Callable, Iterator

from log_shipper.shipper.event import Messages
from log_shipper.shipper.reader.base import Reader
from tests.short_reads import LogOnDisk


def random_sizes(dice: random.Random, *longest: int) -> Iterator[int]:
    """Return the sizes of the reads of one file: each at most what is drawn from `longest` once."""
    most = dice.choice(longest)
    return iter(lambda: dice.randint(1, most), 0)


def drain(reader: Reader) -> list[Messages]:
    """Return all runs that the reader has for now."""
    return list(iter(reader.next, None))


def under_a_hole(content: bytes) -> bytes:
    """Return the content, one in ten with NULs before them."""
    dice = random.Random(content)  # its own, so that the seeds of other contents stay what they are
    return bytes(dice.randrange(1, 50)) + content if dice.random() < 0.1 else content


class GrowingFile:
    """A file that is written piece by piece, and read after each; `size` draws how much is written next.

    With probability `cut_rate` the reader then ends what is pending, as it does after a timeout: `cuts` are the places.
    """

    def __init__(self, dice: random.Random, log: LogOnDisk, size: Callable[[], int], cut_rate: float = 0.3) -> None:
        self.cuts: list[int] = []
        self._dice = dice
        self._log = log
        self._size = size
        self._cut_rate = cut_rate

    def write(self, content: bytes, reader: Reader) -> list[Messages]:
        """Append the content to the file, and return all that was read of it."""
        runs: list[Messages] = []
        written = 0
        while written < len(content):
            size = self._size()
            self._log.append(content[written : written + size])
            written += size
            runs += drain(reader)
            if self._dice.random() < self._cut_rate and (ended := reader.finish()) is not None:
                runs.append(ended)
                self.cuts.append(ended.end)
        return runs

    def cuts_behind(self, position: int) -> tuple[int, ...]:
        return tuple(cut for cut in self.cuts if cut > position)
