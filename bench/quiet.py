"""The cost of an agent in usual operation: following files at low rates, or idle."""

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial

from bench import follow
from bench.contenders import RIVALS, Contender, floor_at
from bench.crowd import CALM, idle, pattern, shipped, write_files
from bench.runs import Runs, report, reported_failures
from bench.table import show, spread
from bench.topics import settled

RATES = ((10, 1), (100, 1), (1000, 1), (20_000, 1), (1000, 50))  # lines per second, files
IDLE = (1, 10_000)  # files


@dataclass(frozen=True, slots=True)
class Spans:
    """Seconds of writing at each rate, and of being idle."""

    busy: float
    idle: float


def section(runs: Runs, contenders: list[Contender], rounds: int, spans: Spans, words: list[str]) -> list[str]:
    """Return the section of docs/explained/figures.md: the tables with one of `words` in the title, or all."""
    agents = [contender for contender in contenders if contender.follows]
    tables: dict[str, Callable[[], str]] = {}
    for rate, files in RATES:
        measured = agents if files > 1 else [*agents, floor_at(rate)]
        tables[follow.title(rate, files)] = partial(follow.table, runs, measured, rounds, rate, spans.busy, files)
    for files in IDLE:
        tables[idle_title(files)] = partial(_idle, runs, agents, rounds, spans.idle, files)
    chosen = [table() for title, table in tables.items() if not words or any(word in title for word in words)]
    return [head(rounds, spans, date.today()), *chosen, notes(agents)]


def idle_title(files: int) -> str:
    return f"{files:,} idle file" + ("s" if files > 1 else "")


def head(rounds: int, spans: Spans, day: date) -> str:
    """Return the introduction of the section."""
    return f"""\
## Where an agent usually runs

`script/bench --quiet --rounds {rounds}`, {day.day} {day:%B %Y}, {os.cpu_count()} shared cores.
Another process writes lines at an even rate for {spans.busy:.0f} s. CPU includes all threads, from the first write
until the last line is readable. A delay lasts from the write to the consumer; "last line" is the time from the last
write until all lines are readable. An idle agent has shipped {follow.LINES} lines of each file; the measurement begins
{CALM:.0f} s later and lasts {spans.idle:.0f} s. Memory is resident. All programs have their defaults, with lz4 and
acks=all."""


def notes(agents: list[Contender]) -> str:
    missing = [rival.name for rival in RIVALS if not any(agent.name.startswith(rival.name) for agent in agents)]
    return f"""\
- **librdkafka alone** is the shipper's client with its settings. It sends each record at the time of the line's write,
  and reads nothing. An agent that collects lines can need less CPU.
- Not measured, because they are not installed: {", ".join(missing) or "none"}."""


def _idle(runs: Runs, agents: list[Contender], rounds: int, seconds: float, files: int) -> str:
    """Return the table, and the agents that did not ship all lines; they are measured nevertheless."""
    results, incomplete = defaultdict(list), {}
    directory, lines = runs.fresh("idle"), files * follow.LINES
    write_files(directory, files, follow.LINES)
    for number in range(rounds):
        for agent in agents:
            job = runs.job(pattern(directory), 1)
            with reported_failures(agent), shipped(agent, job) as child:
                if (shipped_lines := settled(job.bootstrap, job.topic)) < lines:
                    incomplete[agent.name] = f"{agent.name} shipped only {shipped_lines:,} of {lines:,} lines."
                cost = idle(child, seconds)
                results[agent.name].append(cost)
                report(f"round {number + 1}, {idle_title(files)}, {agent.name}: {cost.core:.2%} of a core")
    rows = [
        (
            name,
            spread([cost.core for cost in measured], ".2f", 100),
            spread([cost.memory_mb for cost in measured], ".0f"),
        )
        for name, measured in results.items()
    ]
    return "\n\n".join([show((idle_title(files), "% of a core", "memory MB"), rows), *incomplete.values()])
