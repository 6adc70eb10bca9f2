"""What an agent costs where it usually runs: it follows some files at some lines a second, or nothing is written."""

import os
from collections import defaultdict
from datetime import date

from bench import follow
from bench.contenders import RIVALS, Contender, floor_at
from bench.crowd import CALM, idle, pattern, shipped, write_files
from bench.runs import Runs, report, reported_failures
from bench.table import show, spread
from bench.topics import settled

RATES = (10, 100, 1000, 20_000)  # lines a second
FEW = (1000, 50)  # lines a second, over so many files
IDLE = (1, 10_000)  # files


def section(runs: Runs, contenders: list[Contender], rounds: int, seconds: float, idle_seconds: float) -> list[str]:
    """Return the section of docs/figures.md: each rate is measured for `seconds`, an idle agent for `idle_seconds`."""
    agents = [contender for contender in contenders if contender.follows]
    rate, files = FEW
    tables = [
        *(follow.table(runs, [*agents, floor_at(rate)], rounds, rate, seconds) for rate in RATES),
        follow.table(runs, agents, rounds, rate, seconds, files),
        *(_idle(runs, agents, rounds, idle_seconds, files) for files in IDLE),
    ]
    return [head(rounds, seconds, idle_seconds, date.today()), *tables, notes(agents)]


def head(rounds: int, seconds: float, idle_seconds: float, day: date) -> str:
    """Return what the tables are of, as the section begins."""
    return f"""\
## Where an agent usually runs

`script/bench --quiet --rounds {rounds}`, {day.day} {day:%B %Y}, {os.cpu_count()} shared cores.
Another process writes one line after the other at an even rate, for {seconds:.0f} s. The CPU time, of all threads, is
that from the first write until the last line is readable. A delay is from the write to the consumer; "last line" is
the time from the last write until all lines are readable. An idle agent has shipped {follow.LINES} lines of each
file, and is measured for {idle_seconds:.0f} s, {CALM:.0f} s later. Memory is resident. Settings are each program's
defaults, with lz4 and acks=all."""


def notes(agents: list[Contender]) -> str:
    missing = [rival.name for rival in RIVALS if not any(agent.name.startswith(rival.name) for agent in agents)]
    return f"""\
- **librdkafka alone** is the shipper's client with its settings, which gets each record when the line would be written.
  Nothing is read. An agent that lets lines wait for others can cost less.
- Not measured, because this machine does not have them: {", ".join(missing) or "none"}."""


def _idle(runs: Runs, agents: list[Contender], rounds: int, seconds: float, files: int) -> str:
    results = defaultdict(list)
    directory = runs.fresh("idle")
    write_files(directory, files, follow.LINES)
    title = f"{files:,} idle file" + ("s" if files > 1 else "")
    for number in range(rounds):
        for agent in agents:
            job = runs.job(pattern(directory), 1)  # the first line; an agent that loses some is measured, too
            with reported_failures(agent), shipped(agent, job) as child:
                if missing := files * follow.LINES - settled(job.bootstrap, job.topic):
                    report(f"{agent.name}: {missing:,} of {files * follow.LINES:,} lines are missing")
                cost = idle(child, seconds)
                results[agent.name].append(cost)
                report(f"round {number + 1}, {title}, {agent.name}: {cost.core:.2%} of a core, {cost.memory_mb:.0f} MB")
    rows = [
        (
            name,
            spread([cost.core for cost in measured], ".2f", 100),
            spread([cost.memory_mb for cost in measured], ".0f"),
        )
        for name, measured in results.items()
    ]
    return show((title, "% of a core", "memory MB"), rows)
