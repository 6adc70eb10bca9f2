"""Plays many programs on all cores, and makes a failing one short: see script/fuzz-files."""

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.model.play import play
from tests.model.program import Program, generate

PROGRESS = 10.0  # seconds between two lines
KIND = 30  # characters that tell one kind of problem from another


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def problem_of(program: Program, *, in_full: bool = False) -> str:
    """What the agent did wrong, in words; empty when it did nothing wrong."""
    try:
        play(program)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other programs are to be played too
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return "\n".join([text, *error.__notes__]) if in_full else text[:300]
    return ""


def _play_seed(seed: int) -> tuple[int, str]:
    return seed, problem_of(generate(seed))


def fuzz(count: int, first: int) -> int:
    """Play `count` programs from seed `first` on; how many failed."""
    failed: Counter[str] = Counter()
    started = said = time.monotonic()
    with multiprocessing.Pool(os.cpu_count()) as pool:
        results = pool.imap_unordered(_play_seed, range(first, first + count), chunksize=10)
        for done, (seed, problem) in enumerate(results, 1):
            if problem:
                failed[problem[:KIND]] += 1
                say(f"seed {seed} failed: {problem}\n    once more, with its program: script/fuzz-files --show {seed}")
            if time.monotonic() - said > PROGRESS or done == count:
                said = time.monotonic()
                rate = done / (said - started)
                say(f"{done} of {count} programs, {failed.total()} failed, {rate:.0f}/s")
    for problem, times in failed.most_common():
        say(f"{times:6} x {problem}")
    return failed.total()


def show(program: Program, tries: int) -> int:
    """Play it until it fails, and tell all about that."""
    problem = next((found for _ in range(tries) if (found := problem_of(program, in_full=True))), "")
    say(problem or f"seed {program.seed} did not fail in {tries} tries")
    return 1 if problem else 0


def shrink(program: Program, tries: int) -> Program:
    """Leave out actions as long as it fails in the same way in one of `tries`."""
    kind = next((found[:KIND] for _ in range(tries) if (found := problem_of(program))), "")

    def fails(shorter: Program) -> bool:
        return any(problem_of(shorter)[:KIND] == kind for _ in range(tries))

    size = len(program.actions) // 2 if kind else 0
    while size:
        start = 0
        while start < len(program.actions):
            rest = program.actions[:start] + program.actions[start + size :]
            shorter = replace(program, actions=rest)
            if fails(shorter):
                program = shorter
            else:
                start += size
        size //= 2
    return program


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/fuzz-files", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000, help="how many programs")
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed")
    parser.add_argument("--show", type=int, metavar="SEED", help="play one program and print it if it fails")
    parser.add_argument("--shrink", type=int, metavar="SEED", help="print the shortest part of it that still fails")
    parser.add_argument("--tries", type=int, default=3, help="how often to play a program that fails only sometimes")
    chosen = parser.parse_args()
    if chosen.show is not None:
        return show(generate(chosen.show), chosen.tries)
    if chosen.shrink is not None:
        return show(shrink(generate(chosen.shrink), chosen.tries), chosen.tries)
    return 1 if fuzz(chosen.count, chosen.first) else 0


if __name__ == "__main__":
    sys.exit(main())
