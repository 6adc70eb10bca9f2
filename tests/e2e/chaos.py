"""Lines from live files through the shipper, Kafka and the sink into a table, while each of them is killed at random.

script/chaos N [--seed S]   N rounds; after each the table is compared with the files, byte for byte
"""

import argparse
import random
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from demo.writer import rotate
from tests.e2e import chaos_monkeys as monkeys
from tests.e2e.chaos_site import Site
from tests.e2e.running import LiveWriter

RATE = 300  # lines a second of each file
LATE = 0.2  # seconds for which a program still writes to a renamed file


class RotatingWriter(threading.Thread):
    """Two programs that log until `end`: one's file is renamed every few seconds, as logrotate does it."""

    def __init__(self, logs: Path, dice: random.Random) -> None:
        super().__init__()
        self._logs = logs
        self._dice = dice
        self._ending = threading.Event()

    def run(self) -> None:
        path = self._logs / "app.log"
        with LiveWriter(self._logs / "db.log", RATE), ExitStack() as open_file:
            while not self._ending.is_set():
                open_file.enter_context(LiveWriter(path, RATE))
                self._ending.wait(self._dice.uniform(1, 5))
                rotate(path)
                self._ending.wait(LATE)
                open_file.close()

    def end(self) -> None:
        self._ending.set()
        self.join()


def run(directory: Path, rounds: int, seed: int) -> int:
    """Return the number of lines landed. Raises AssertionError with what is wrong."""
    began = time.monotonic()

    def report(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)  # noqa: T201

    lines = 0
    with Site(directory, report) as site:
        for number in range(rounds):
            lines = _round(site, f"{seed} {number}")
            files = len(list(site.agent.logs.iterdir()))
            report(f"round {number + 1} of {rounds}: {lines:,} lines of {files} files, each once")
        code = site.sink.terminate()
        assert code == 0, f"the sink ended with code {code}:\n{site.sink.log_text()[-2000:]}"
    return lines


def _round(site: Site, seed: str) -> int:
    dice = {name: random.Random(f"{seed} {name}") for name in ("files", "shipper", "broker", "sink", "topic", "what")}
    site.batch_rows = dice["what"].choice((3_000, 10_000, 1_000_000))
    writer = RotatingWriter(site.agent.logs, dice["files"])
    site.agent.start()
    writer.start()
    try:
        playing = [
            monkeys.shipper(site, dice["shipper"], dice["what"].randint(2, 4)),
            monkeys.broker(site, dice["broker"], dice["what"].randint(0, 2)),
            monkeys.sink(site, dice["sink"], dice["what"].randint(1, 3), dice["what"].random() < 0.4),
        ]
        if dice["what"].random() < 0.4:
            playing.append(monkeys.topic(site, dice["topic"]))
        monkeys.play(site, playing)
    finally:
        writer.end()
    return site.verify_table()


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/chaos", description="Kills everything at random, and counts lines.")
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="chaos-"))
    print(f"seed {options.seed}, in {directory}", flush=True)  # noqa: T201
    right = False
    try:
        run(directory, options.rounds, options.seed)
        right = True
    finally:
        print("all right" if right else f"seed {options.seed}; its files are in {directory}")  # noqa: T201
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
