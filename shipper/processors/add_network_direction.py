"""`add_network_direction`: adds the direction of a network flow."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank, without_blanks
from log_shipper.shipper.options.conditions import network_faults
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import path_of, roots
from log_shipper.shipper.processor.networks import address_of, within


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNetworkDirectionConfig(ProcessorConfig):
    """Adds the direction of a network flow: inbound, outbound, internal or external, depending on which of its ends are
    in the internal networks. An event without two addresses is not changed."""

    name: ClassVar = "add_network_direction"
    example: ClassVar = (
        "add_network_direction: {internal_networks: [private]} "
        "-> {source: {ip: 10.0.0.1}, destination: {ip: 1.1.1.1}} "
        "-> {source: {ip: 10.0.0.1}, destination: {ip: 1.1.1.1}, network: {direction: outbound}}"
    )
    source: str = field(default="source.ip", metadata={"check": not_blank, "doc": "The field with the source address."})
    destination: str = field(
        default="destination.ip", metadata={"check": not_blank, "doc": "The field with the destination address."}
    )
    target: str = field(
        default="network.direction", metadata={"check": not_blank, "doc": "The field that the direction is written to."}
    )
    internal_networks: tuple[str, ...] = field(
        metadata={
            "check": without_blanks,
            "doc": "The internal networks, in CIDR notation or as names that the condition `network` has.",
        }
    )

    def check(self) -> Iterator[Finding]:
        for index, network in enumerate(self.internal_networks):
            yield from ((f"internal_networks[{index}]", fault) for fault in network_faults(network))

    def build(self, _: ProcessorContext) -> EventProcessor:
        return AddNetworkDirection(self)


# By (source is internal, destination is internal).
_DIRECTIONS = {
    (True, True): "internal",
    (True, False): "outbound",
    (False, True): "inbound",
    (False, False): "external",
}


class AddNetworkDirection:
    """Leaves an event without two addresses unchanged, without an error, as Filebeat does."""

    def __init__(self, config: AddNetworkDirectionConfig) -> None:
        self._ends = path_of(config.source), path_of(config.destination)
        self._target = path_of(config.target)
        self._is_internal = within(config.internal_networks)
        self.touches: frozenset[str] | None = roots(*self._ends, self._target)

    def apply(self, event: Event) -> None:
        source, destination = (event.get(path) for path in self._ends)
        if not isinstance(source, str) or not isinstance(destination, str):
            return
        if address_of(source) is not None and address_of(destination) is not None:
            event.put(self._target, _DIRECTIONS[self._is_internal(source), self._is_internal(destination)])
