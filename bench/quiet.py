"""What an agent costs where it usually runs: it follows some files at some lines a second, or nothing is written."""

from collections import defaultdict

from bench import follow
from bench.contenders import Contender, floor_at
from bench.crowd import idle, pattern, shipped, write_files
from bench.runs import Runs, report, reported_failures
from bench.table import show, spread
from bench.topics import settled

RATES = (10, 100, 1000, 20_000)  # lines a second
FEW = (1000, 50)  # lines a second, over so many files
IDLE = (1, 10_000)  # files


def tables(runs: Runs, contenders: list[Contender], rounds: int, seconds: float, idle_seconds: float) -> list[str]:
    """Measure each rate for `seconds`, and the idle agents for `idle_seconds`."""
    agents = [contender for contender in contenders if contender.follows]
    rate, files = FEW
    return [
        *(follow.table(runs, [*agents, floor_at(rate)], rounds, rate, seconds) for rate in RATES),
        follow.table(runs, agents, rounds, rate, seconds, files),
        *(_idle(runs, agents, rounds, idle_seconds, files) for files in IDLE),
    ]


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
