"""`script/bench`: everything side by side in one run, the contenders taking turns, so that noise meets all of them."""

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

from bench import follow, throughput
from bench.contenders import Contender, Job, available
from bench.data import write_lines
from bench.table import show, spread
from bench.topics import PARTITIONS
from demo.broker import Broker

LINES = 1_000_000


class Bench:
    """One broker and one directory for all runs; a fresh topic and a fresh directory for each."""

    def __init__(self, broker: Broker, directory: Path) -> None:
        self._broker = broker
        self._directory = directory
        self._runs = 0

    def job(self, log: Path, count: int) -> Job:
        self._runs += 1
        topic = f"bench-{self._runs}"
        self._broker.create_topic(topic, PARTITIONS)
        directory = self._directory / topic
        directory.mkdir()
        return Job(self._broker.bootstrap, topic, log, directory, count)

    def warm_up(self, lines: int) -> None:
        """The JVM compiles the broker while it works: nobody's run should pay for that."""
        _say("warming the broker up")
        floor = next(each for each in available() if each.name == "floor")
        for _ in range(2):
            throughput.measure(floor, self.job(self._directory, lines))

    def throughput(self, contenders: list[Contender], rounds: int, lines: int) -> str:
        log = self._directory / "big.log"
        write_lines(log, lines)
        results = defaultdict(list)
        for number in range(rounds):
            for contender in contenders:
                result = throughput.measure(contender, self.job(log, lines))
                results[contender.name].append(result)
                rate = result.events_per_second / 1000
                _say(f"round {number + 1}, {contender.name}: {rate:.0f} k events/s, {result.cpu_us:.1f} us")
        rows = [
            (
                name,
                spread([run.events_per_second for run in runs], ".0f", 1e-3),
                spread([run.cpu_us for run in runs], ".2f"),
                spread([run.memory_mb for run in runs], ".0f"),
            )
            for name, runs in results.items()
        ]
        return show((f"{lines} lines", "k events/s", "CPU us an event", "memory MB"), rows)

    def follow(self, contenders: list[Contender], rounds: int, rate: float, seconds: float) -> str:
        results = defaultdict(list)
        for number in range(rounds):
            for contender in contenders:
                log = self._directory / f"live-{self._runs}.log"
                result = follow.measure(contender, self.job(log, 0), rate, seconds)
                results[contender.name].append(result)
                cost = f"{result.core:.1%} of a core, p50 {result.p50 * 1000:.1f} ms, p99 {result.p99 * 1000:.1f} ms"
                _say(f"round {number + 1}, {contender.name}: {cost}")
        rows = [
            (
                name,
                spread([run.core for run in runs], ".1f", 100),
                spread([run.p50 for run in runs], ".1f", 1000),
                spread([run.p99 for run in runs], ".1f", 1000),
                spread([run.last for run in runs], ".1f", 1000),
            )
            for name, runs in results.items()
        ]
        return show((f"followed at {rate:.0f} lines/s", "% of a core", "p50 ms", "p99 ms", "last line ms"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench", description="Measures the figures that the README quotes.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--seconds", type=float, default=10.0, help="of following, for each rate")
    options = parser.parse_args()
    contenders = available()
    _say("measured: " + ", ".join(each.name for each in contenders) + " (of Debian's packages: rsyslog-kafka, kcat)")
    with tempfile.TemporaryDirectory(prefix="bench-") as name, _broker(Path(name)) as broker:
        bench = Bench(broker, Path(name))
        bench.warm_up(options.lines)
        followers = [each for each in contenders if each.follows]
        tables = [
            bench.throughput([each for each in contenders if each.name != "shipper"], options.rounds, options.lines),
            bench.follow(followers, options.rounds, 100, options.seconds),
            bench.follow(followers, options.rounds, 20_000, options.seconds),
        ]
    print("\n\n".join(tables))  # noqa: T201


def _broker(directory: Path) -> Broker:
    """With the compiler that servers run with, not the one that starts soonest."""
    return Broker(directory / "broker", heap="1g", jvm_options=())


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
