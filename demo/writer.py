"""The demo's live source: a program that writes a log and rotates it by renaming, as logrotate does.

    python -m demo.writer FILE --rate 5000 --rotations 2 --every 6 [--flush]

Exits on SIGTERM after flushing its buffer.
"""

import argparse
import random
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

# Seconds for which it keeps writing to the renamed file, as programs do until the signal to reopen.
REOPEN_DELAY = 0.2
TICK = 0.02
CUSTOMERS = ("Zoë Müller", "Ana Souza", "王小明", "O'Brien", "Łukasz Żak")


def line(number: int, now: datetime, dice: random.Random) -> str:
    """Return a line of about 130 bytes; sometimes empty, or with a line end of Windows."""
    if number % 997 == 0:
        return "\n"
    level = "ERROR" if dice.random() < 0.01 else "WARN" if dice.random() < 0.05 else "INFO"
    timestamp = now.isoformat(timespec="milliseconds")
    customer = dice.choice(CUSTOMERS)
    text = (
        f"{timestamp} {level:5} [worker-{dice.randrange(16)}] checkout.OrderService - "
        f"order={number} {customer=} amount={dice.random() * 500:.2f} took={dice.randrange(900)}ms"
    )
    return text + ("\r\n" if number % 499 == 0 else "\n")


def rotate(path: Path) -> None:
    """Rename app.log -> app.log.1 -> app.log.2 ..., the oldest first."""
    numbered = [int(old.name.rpartition(".")[2]) for old in path.parent.glob(f"{path.name}.*")]
    for number in sorted(numbered, reverse=True):
        path.with_name(f"{path.name}.{number}").rename(path.with_name(f"{path.name}.{number + 1}"))
    path.rename(path.with_name(f"{path.name}.1"))


class LogWriter:
    """One open log: `write` catches up with the clock; after `rename`, lines go to the old file until `reopen`."""

    def __init__(self, path: Path, rate: float, dice: random.Random, flush: bool = False) -> None:
        self._path = path
        self._rate = rate
        self._dice = dice
        self._flush = flush
        self._written = 0
        self._file = self._open()

    def write(self, elapsed: float) -> None:
        now = datetime.now(UTC)
        while self._written < elapsed * self._rate:
            self._written += 1
            self._file.write(line(self._written, now, self._dice))
        if self._flush:
            self._file.flush()

    def rename(self) -> None:
        rotate(self._path)

    def reopen(self) -> None:
        self._file.close()
        self._file = self._open()

    def close(self) -> None:
        self._file.close()

    def _open(self) -> TextIO:
        # A small buffer, not aligned to lines: the reader sees partial lines, as with real programs.
        return self._path.open("a", buffering=8192, encoding="utf-8", newline="")


def run(writer: LogWriter, rotations: int, every: float) -> None:
    """Write until SIGTERM."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    started = time.monotonic()
    moments = [(every * (n + 1) + delay, n, delay) for n in range(rotations) for delay in (0.0, REOPEN_DELAY)]
    while not stopped:
        elapsed = time.monotonic() - started
        writer.write(elapsed)
        while moments and elapsed >= moments[0][0]:
            _, _, delay = moments.pop(0)
            writer.reopen() if delay else writer.rename()
        time.sleep(TICK)
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a log that rotates by renaming.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--rate", type=float, default=5000, help="lines per second")
    parser.add_argument("--rotations", type=int, default=2)
    parser.add_argument("--every", type=float, default=6, help="seconds between rotations")
    parser.add_argument("--flush", action="store_true", help="write each line immediately, as slow programs do")
    options = parser.parse_args()
    writer = LogWriter(options.path, options.rate, random.Random(1), options.flush)
    run(writer, options.rotations, options.every)


if __name__ == "__main__":
    main()
