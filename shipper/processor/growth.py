"""How much processors may enlarge events, by their options."""

from collections.abc import Iterable

from config.shipper.processors import AnyProcessor, Branch
from config.shipper.processors.decoding import MOST_XML_NODES, DecodeXmlConfig, DecompressGzipFieldConfig
from shipper.event import Growth

DEFLATE = 1032  # the most bytes that one byte of deflate stands for: two bits are a copy of up to 258 bytes
# The memory of an XML document's objects: at most so many times its bytes, and so many bytes for each of its nodes.
XML, XML_NODE = 40, 400


def growth_of(configs: Iterable[AnyProcessor]) -> Growth:
    """Return how much larger these processors, one after the other, may make events."""
    growth = Growth()
    for config in configs:
        match config:
            case Branch():
                growth = growth.then(growth_of((*config.then, *config.otherwise)))
            case DecompressGzipFieldConfig():
                growth = growth.then(Growth(DEFLATE, config.max_bytes))
            case DecodeXmlConfig():
                growth = growth.then(Growth(XML, MOST_XML_NODES * XML_NODE))
    return growth
