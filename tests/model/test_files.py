"""Seeded programs of file actions against the plainest model: the content of the files must arrive, once.

`SEEDS=17 pytest tests/model/test_files.py` plays one program, `script/fuzz-files` as many as you like.
"""

import pytest

from tests.model.failed_once import FAILED_ONCE
from tests.model.play import play
from tests.model.program import OTHERWISE, Program, generate
from tests.model.seeds import seeds

TOGETHER = 50  # programs a test: with one each, most of the time would be pytest's


def chunks() -> list[list[int]]:
    chosen = seeds([*range(2000), *range(OTHERWISE, OTHERWISE + 500)])
    return [chosen[start : start + TOGETHER] for start in range(0, len(chosen), TOGETHER)]


half = pytest.mark.slow("as many programs again as in the gate")


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(chunk, id=f"from {chunk[0]}", marks=[half] if number % 2 else [])
        for number, chunk in enumerate(chunks())
    ],
)
def test_every_line_arrives_once_whatever_happens_to_files_and_agent(chunk: list[int]) -> None:
    for seed in chunk:
        play(generate(seed))


@pytest.mark.parametrize("program", FAILED_ONCE, ids=lambda program: program.seed)
def test_what_failed_once_does_not_fail_again(program: Program) -> None:
    play(program)
