"""The garbage collector's part in making many objects that stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# More objects than a configuration as large as it may be makes. Not without a bound: if the file system hangs, this is
# how things stay, and what only the collector can free must be freed some day.
COLLECT_AFTER = 2_000_000


@contextmanager
def long_lived() -> Iterator[None]:
    """What is made within is not looked through by the collector: 200,000 young objects at once take it 0.1 s and more,
    in which no thread runs. Reference counts free them like any others."""
    usual = gc.get_threshold()
    gc.set_threshold(max(COLLECT_AFTER, usual[0]), *usual[1:])
    try:
        yield
        gc.freeze()
    finally:
        gc.set_threshold(*usual)
