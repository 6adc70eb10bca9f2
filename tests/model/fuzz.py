"""Plays many programs on all cores, and makes a failing one short: see script/fuzz-files."""

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.model import journal_play, journal_program, play, program
from tests.model.journal_program import JournalProgram
from tests.model.program import Action, Program

PROGRESS = 10.0  # seconds between two lines
A_CORE = 3  # programs at a time: at each end of an agent the kernel takes some 15 ms to close an inotify descriptor


AnyProgram = Program | JournalProgram


def log(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def problem_of(program: AnyProgram, *, in_full: bool = False) -> str:
    """Describe what the agent did wrong; empty if it did nothing wrong."""
    try:
        if isinstance(program, JournalProgram):
            journal_play.play(program)
        else:
            play.play(program)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other programs are played too
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__} ({Path(where.filename).name}:{where.lineno}): {error}"
        return "\n".join([text, *error.__notes__]) if in_full else text[:300]
    return ""


def kind_of(problem: str) -> str:
    """Return what went wrong and where, without ids and numbers, which change with each run."""
    return problem.partition(": ")[0]


def _play_seed(generate: Callable[[int], AnyProgram], seed: int) -> tuple[int, str]:
    return seed, problem_of(generate(seed))


def fuzz(generate: Callable[[int], AnyProgram], count: int, first: int) -> int:
    """Play `count` programs from seed `first` on, and return how many failed."""
    failed: Counter[str] = Counter()
    started = reported = time.monotonic()
    with multiprocessing.Pool(A_CORE * (os.cpu_count() or 1)) as pool:
        results = pool.imap_unordered(partial(_play_seed, generate), range(first, first + count), chunksize=10)
        for done, (seed, problem) in enumerate(results, 1):
            if problem:
                failed[kind_of(problem)] += 1
                log(f"seed {seed} failed: {problem}\n    once more, with its program: script/fuzz-files --show {seed}")
            if time.monotonic() - reported > PROGRESS or done == count:
                reported = time.monotonic()
                rate = done / (reported - started)
                log(f"{done} of {count} programs, {failed.total()} failed, {rate:.0f}/s")
    for kind, times in failed.most_common():
        log(f"{times:6} x {kind}")
    return failed.total()


def show(program: AnyProgram, tries: int) -> int:
    """Play it until it fails, and print the whole problem."""
    problem = next((problem for _ in range(tries) if (problem := problem_of(program, in_full=True))), "")
    log(problem or f"seed {program.seed} did not fail in {tries} tries")
    return 1 if problem else 0


def shrink(program: AnyProgram, tries: int) -> AnyProgram:
    """Leave out actions, then parts of what remains, as long as it fails in the same way in one of `tries`."""
    kind = next((kind_of(problem) for _ in range(tries) if (problem := problem_of(program))), "")
    if not kind:
        return program

    def fails(actions: list[Any]) -> bool:
        return any(kind_of(problem_of(replace(program, actions=actions))) == kind for _ in range(tries))

    actions = _shorten(list(program.actions), fails)

    def fails_with(index: int, place: int, part: list[Any]) -> bool:
        return fails([*actions[:index], _with_part(actions[index], place, part), *actions[index + 1 :]])

    for index, action in enumerate(actions):
        for place, argument in enumerate(action):
            if isinstance(argument, tuple):
                part = _shorten(list(argument), partial(fails_with, index, place))
                actions[index] = _with_part(actions[index], place, part)
    return replace(program, actions=actions)


def _with_part(action: Action, place: int, part: list[Any]) -> Action:
    return (*action[:place], tuple(part), *action[place + 1 :])


def _shorten(items: list[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """Leave out items as long as it fails, until each single one is needed."""
    size = max(len(items) // 2, 1)
    while size:
        before, start = len(items), 0
        while start < len(items):
            shorter = items[:start] + items[start + size :]
            if fails(shorter):
                items = shorter
            else:
                start += size
        if size > 1 or len(items) == before:
            size //= 2
    return items


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/fuzz-files", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000, help="how many programs")
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed")
    parser.add_argument("--show", type=int, metavar="SEED", help="play one program and print it if it fails")
    parser.add_argument("--shrink", type=int, metavar="SEED", help="print the shortest part of it that still fails")
    parser.add_argument("--tries", type=int, default=3, help="how often to play a program that fails only sometimes")
    parser.add_argument("--journals", action="store_true", help="programs of journals in place of files")
    chosen = parser.parse_args()
    generate = journal_program.generate if chosen.journals else program.generate
    if chosen.show is not None:
        return show(generate(chosen.show), chosen.tries)
    if chosen.shrink is not None:
        return show(shrink(generate(chosen.shrink), chosen.tries), chosen.tries)
    return 1 if fuzz(generate, chosen.count, chosen.first) else 0


if __name__ == "__main__":
    sys.exit(main())
