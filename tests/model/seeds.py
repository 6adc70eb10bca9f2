"""Seeded programs: `SEEDS=20000:20100 pytest tests/model` runs others than the usual ones.

A failing test names its seed. A seed that failed once is added to the test's own list and stays there.
"""

import os
from collections.abc import Sequence


def seeds(usual: int, failed_once: Sequence[int] = ()) -> list[int]:
    if chosen := os.environ.get("SEEDS"):
        first, _, end = chosen.partition(":")
        return list(range(int(first), int(end or int(first) + 1)))
    return [*range(usual), *failed_once]
