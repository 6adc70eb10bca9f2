"""Files that are written line by line while they are followed: cost, and delay of lines."""

import time
from collections import defaultdict
from collections.abc import Mapping

from bench.appends import Appended, appended
from bench.contenders import Contender
from bench.crowd import pattern, shipped, write_files
from bench.runs import Runs, report, reported_failures
from bench.table import show, spread

LINES = 20  # of each file at the start: more than the 1,024 bytes of Filebeat's fingerprint
SETTLE = 3.0  # seconds
COLUMNS = ("% of a core", "p50 ms", "p99 ms", "CPU µs per line", "last line s", "memory MB")


def title(rate: int, files: int) -> str:
    return f"{rate:,} lines/s" + (f" over {files} files" if files > 1 else "")


def table(runs: Runs, contenders: list[Contender], rounds: int, rate: int, seconds: float, files: int = 1) -> str:
    """Return the table of `rate` lines per second, written to the files in turn."""
    results = defaultdict(list)
    name = title(rate, files)
    for number in range(rounds):
        for contender in contenders:
            with reported_failures(contender):
                run = measure(contender, runs, rate, seconds, files)
                results[contender.name].append(run)
                delays = f"p50 {run.delays.p50 * 1000:.1f} ms, p99 {run.delays.p99 * 1000:.1f} ms"
                report(f"round {number + 1}, {name}, {contender.name}: {run.core:.2%} of a core, {delays}")
    return shown(name, results)


def measure(contender: Contender, runs: Runs, rate: int, seconds: float, files: int) -> Appended:
    """Measure one run. Raises RuntimeError if lines are missing at the end."""
    directory = runs.fresh("live")
    paths = write_files(directory, files, LINES)
    job = runs.job(pattern(directory), files * LINES)
    with shipped(contender, job) as child:
        time.sleep(SETTLE)
        return appended(child, job, paths, rate, int(rate * seconds))


def shown(name: str, results: Mapping[str, list[Appended]]) -> str:
    """Return the table of each contender's runs."""
    return show((name, *COLUMNS), [(name, *_cells(measured)) for name, measured in results.items()])


def _cells(measured: list[Appended]) -> tuple[str, ...]:
    cpu_us = [run.cpu_us for run in measured]
    return (
        spread([run.core for run in measured], ".2f", 100),
        spread([run.delays.p50 for run in measured], ".1f", 1000),
        spread([run.delays.p99 for run in measured], ".1f", 1000),
        spread(cpu_us, ".0f" if min(cpu_us) >= 100 else ".1f"),
        spread([run.last for run in measured], ".3f"),
        spread([run.memory_mb for run in measured], ".0f"),
    )
