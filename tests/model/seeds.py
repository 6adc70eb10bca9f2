"""Seeded programs: `SEEDS=20000:20100 pytest tests/model` runs others than the usual ones, `SEEDS=/20` one in twenty of
the usual ones.

A failing test names its seed. A seed that failed once is added to the test's own list and stays there.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path

from tests.short_reads import LogOnDisk

Test = Callable[..., None]


def seeds(usual: int | Sequence[int], failed_once: Sequence[int] = ()) -> list[int]:
    """Which seeds to run: of `usual`, which is how many or which ones, unless SEEDS names others."""
    chosen = os.environ.get("SEEDS", "/1")
    if chosen.startswith("/"):
        ones = range(usual) if isinstance(usual, int) else usual
        return [*ones[:: int(chosen[1:])], *failed_once]
    first, _, end = chosen.partition(":")
    return list(range(int(first), int(end or int(first) + 1)))


def for_each_seed(usual: int | Sequence[int], failed_once: Sequence[int] = ()) -> Callable[[Test], Test]:
    """Run the test with each of the seeds, all in one case. Its fixtures are shared by them, so it may have those that
    keep nothing, `log`, and `tmp_path`, of which each has a directory of its own."""

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(**fixtures: object) -> None:
            folder = fixtures.get("tmp_path")
            for seed in seeds(usual, failed_once):
                if isinstance(folder, Path):
                    fixtures["tmp_path"] = folder / f"{seed}"
                    (folder / f"{seed}").mkdir()
                try:
                    test(seed=seed, **fixtures)
                except BaseException as error:
                    error.add_note(f"with seed {seed}")
                    raise
                if isinstance(log := fixtures.get("log"), LogOnDisk):
                    log.close()

        parameters = inspect.signature(test).parameters.values()
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # pytest looks for fixtures there
            [parameter for parameter in parameters if parameter.name != "seed"]
        )
        return run

    return decorate
