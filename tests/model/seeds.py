"""Seeded programs: `SEEDS=20000:20100 pytest tests/model` runs others than the usual ones, `SEEDS=/20` one in twenty of
the usual ones.

A failing test names its seed. A seed that failed once is added to the test's own list and stays there.
"""

import os
from collections.abc import Sequence


def seeds(usual: int | Sequence[int], failed_once: Sequence[int] = ()) -> list[int]:
    """Which seeds to run: of `usual`, which is how many or which ones, unless SEEDS names others."""
    chosen = os.environ.get("SEEDS", "/1")
    if chosen.startswith("/"):
        ones = range(usual) if isinstance(usual, int) else usual
        return [*ones[:: int(chosen[1:])], *failed_once]
    first, _, end = chosen.partition(":")
    return list(range(int(first), int(end or int(first) + 1)))
