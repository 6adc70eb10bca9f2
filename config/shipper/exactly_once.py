"""What `output.kafka.delivery: exactly_once` cannot be combined with: what is read or sent so that a position does not
show which records are there."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config.shipper.feeds.base import AnyInput
from config.shipper.processors import Branch
from config.text.checks import Finding

_OR = "or set output.kafka.delivery: at_least_once"


def conflicts(inputs: Iterable[AnyInput], processors: Mapping[str, Iterable[Any]]) -> Iterator[Finding]:
    """Yield what exactly_once cannot be combined with. `processors`: the lists of them by dotted path."""
    for index, item in enumerate(inputs):
        if item.enabled and item.type == "stdin":
            yield f"inputs[{index}].type", f"exactly_once needs files: stdin cannot be read again; read a file, {_OR}"
    for where, items in processors.items():
        for processor in _all_of(items):
            if processor.name == "dns" and processor.order == "free":
                yield where, f"exactly_once needs the order of a file: set dns.order: kept, {_OR}"
            if processor.name == "decompress_gzip_field":
                yield (
                    where,
                    f"exactly_once cannot send a batch in pieces, as decompress_gzip_field needs: remove it, {_OR}",
                )


def _all_of(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the processors, also those in branches."""
    for item in items:
        if isinstance(item, Branch):
            yield from _all_of((*item.then, *item.otherwise))
        else:
            yield item
