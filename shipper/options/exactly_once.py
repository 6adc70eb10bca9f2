"""What `output.kafka.delivery: exactly_once` cannot be combined with: what is read or sent so that a position does not
show which records are there."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.options.feeds import AnyInput, feeds_of
from log_shipper.shipper.options.processors import Branch

_OR = "or set output.kafka.delivery: at_least_once"


def conflicts(
    inputs: Iterable[AnyInput],
    processors: Mapping[str, Iterable[Any]],
    hosts: Iterable[str] = (),
    *,
    on_disk: bool = False,
) -> Iterator[Finding]:
    """Yield what exactly_once cannot be combined with. `processors`: the lists of them by dotted path. `hosts`: the
    brokers of the output. `on_disk`: all that is read passes through a queue on disk."""
    inputs, brokers = list(inputs), set(hosts)
    for index, feed in feeds_of(inputs):
        if feed.enabled and feed.type == "kafka":
            yield from ((f"inputs[{index}].{below}", message) for below, message in _of_kafka(feed, brokers))
            if on_disk:
                yield (
                    "queue.disk",
                    "exactly_once commits the offsets of an input of type kafka with its records, which must not wait "
                    f"on disk in between: remove queue.disk, for the topic is the queue, {_OR}",
                )
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


def _of_kafka(feed: Any, brokers: set[str]) -> Iterator[Finding]:
    """Yield what is wrong with an input whose offsets are committed with the records."""
    if feed.isolation_level != "read_committed":
        yield (
            "isolation_level",
            "exactly_once needs read_committed: a member that takes over a partition must see the offsets of "
            f"transactions that are still open; set it, {_OR}",
        )
    if brokers and brokers.isdisjoint(feed.hosts):
        yield (
            "hosts",
            "exactly_once commits the offsets with the records, which only one cluster can do: name the brokers of "
            f"output.kafka.hosts, {_OR}",
        )


def _all_of(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the processors, also those in branches."""
    for item in items:
        if isinstance(item, Branch):
            yield from _all_of((*item.then, *item.otherwise))
        else:
            yield item
