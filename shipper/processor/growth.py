"""How much processors may enlarge events, by their options."""

from collections.abc import Iterable
from typing import Any

from log_shipper.config.shipper.processors import AnyProcessor, Branch
from log_shipper.shipper.event import Growth

DEFLATE = 1032  # the most bytes that one byte of deflate stands for: two bits are a copy of up to 258 bytes
# The memory of an XML document's objects: at most so many times its bytes, and so many bytes for each of its nodes.
XML, XML_NODE = 40, 400


def growth_of(configs: Iterable[AnyProcessor]) -> Growth:
    """Return how much larger these processors, one after the other, may make events."""
    growth = Growth()
    for config in configs:
        if isinstance(config, Branch):
            growth = growth.then(growth_of((*config.then, *config.otherwise)))
        elif (larger := _growth(config)) is not None:
            growth = growth.then(larger)
    return growth


def _growth(config: Any) -> Growth | None:
    """Return how much larger one processor may make events; None if its results are not larger than what it reads."""
    match config.name:
        case "decompress_gzip_field":
            return Growth(DEFLATE, config.max_bytes)
        case "decode_xml":
            from log_shipper.config.shipper.processors.decoding import MOST_XML_NODES  # imported where it is configured

            return Growth(XML, MOST_XML_NODES * XML_NODE)
    return None
