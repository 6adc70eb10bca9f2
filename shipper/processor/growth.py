"""How much larger a chain of processors may make events."""

from collections.abc import Iterable

from config.shipper.processors import AnyProcessor, Branch
from config.shipper.processors.decoding import DecompressGzipFieldConfig
from shipper.event import Growth

DEFLATE = 1032  # the most bytes that one byte of deflate stands for: two bits are a copy of up to 258 bytes


def growth_of(configs: Iterable[AnyProcessor]) -> Growth:
    """Of these processors, one after the other."""
    growth = Growth()
    for config in configs:
        if isinstance(config, Branch):
            growth = growth.then(growth_of((*config.then, *config.otherwise)))
        elif isinstance(config, DecompressGzipFieldConfig):
            growth = growth.then(Growth(DEFLATE, config.max_bytes))
    return growth
