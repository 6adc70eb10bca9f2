"""One file: how fast it is read, and how late a line is readable while it is followed."""

from collections import defaultdict

from bench import follow, throughput
from bench.contenders import Contender
from bench.data import write_lines
from bench.runs import Runs, report
from bench.table import show, spread


def side_by_side(
    runs: Runs, readers: list[Contender], followers: list[Contender], rounds: int, lines: int, seconds: float
) -> list[str]:
    """Return the tables of those that read a file to its end, and of those that follow one."""
    return [
        reading(runs, readers, rounds, lines),
        follow.table(runs, followers, rounds, 100, seconds),
        follow.table(runs, followers, rounds, 20_000, seconds),
    ]


def reading(runs: Runs, contenders: list[Contender], rounds: int, lines: int) -> str:
    log = runs.directory / "big.log"
    write_lines(log, lines)
    results = defaultdict(list)
    for number in range(rounds):
        for contender in contenders:
            result = throughput.measure(contender, runs.job(log, lines))
            results[contender.name].append(result)
            rate = result.events_per_second / 1000
            report(f"round {number + 1}, {contender.name}: {rate:.0f} k events/s, {result.cpu_us:.1f} us")
    rows = [
        (
            name,
            spread([run.events_per_second for run in measured], ".0f", 1e-3),
            spread([run.cpu_us for run in measured], ".2f"),
            spread([run.memory_mb for run in measured], ".0f"),
        )
        for name, measured in results.items()
    ]
    return show((f"{lines} lines", "k events/s", "CPU µs an event", "memory MB"), rows)
