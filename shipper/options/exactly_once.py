"""Options that `output.kafka.delivery: exactly_once` excludes, because a position would no longer identify the records
sent.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.options.feeds import AnyInput, feeds_of
from log_shipper.shipper.options.processors import each_processor

_OR = "or set output.kafka.delivery: at_least_once"


def conflicts(
    inputs: Iterable[AnyInput],
    processors: Mapping[str, Iterable[Any]],
    hosts: Iterable[str] = (),
    *,
    on_disk: bool = False,
) -> Iterator[Finding]:
    """Yield conflicts with exactly_once. `processors`: the lists of processors by dotted path. `hosts`: the brokers of
    the output. `on_disk`: all events pass through a queue on disk.
    """
    inputs, brokers = list(inputs), set(hosts)
    for index, feed in feeds_of(inputs):
        if feed.enabled and feed.type == "kafka":
            yield from ((f"inputs[{index}].{below}", message) for below, message in _of_kafka(feed, brokers))
            if on_disk:
                yield (
                    "queue.disk",
                    (
                        "exactly_once commits a kafka input's offsets together with its records, and a queue on disk "
                        f"would delay them: remove queue.disk, {_OR}"
                    ),
                )
    for index, item in enumerate(inputs):
        if item.enabled and item.type == "stdin":
            yield f"inputs[{index}].type", f"exactly_once cannot re-read stdin: read a file instead, {_OR}"
    for where, items in processors.items():
        for processor in each_processor(items):
            if processor.name == "dns" and processor.order == "free":
                yield where, f"exactly_once needs events in file order: set dns.order: kept, {_OR}"
            if processor.name == "decompress_gzip_field":
                yield (
                    where,
                    f"exactly_once cannot split a batch, as decompress_gzip_field requires: remove it, {_OR}",
                )


def _of_kafka(feed: Any, brokers: set[str]) -> Iterator[Finding]:
    """Yield what is wrong with an input whose offsets are committed with the records."""
    if feed.isolation_level != "read_committed":
        yield (
            "isolation_level",
            (
                "exactly_once needs read_committed, so that the next owner of a partition sees offsets of open "
                f"transactions: set it, {_OR}"
            ),
        )
    if brokers and brokers.isdisjoint(feed.hosts):
        yield (
            "hosts",
            (
                "exactly_once commits offsets and records in one transaction, so that both must be on the same "
                f"cluster: name the brokers of output.kafka.hosts, {_OR}"
            ),
        )
