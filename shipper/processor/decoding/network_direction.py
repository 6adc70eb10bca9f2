"""`add_network_direction`: the direction of a flow, as seen from the border of the internal networks."""

from log_shipper.shipper.options.processors.adding import AddNetworkDirectionConfig
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import path_of, roots
from log_shipper.shipper.processor.networks import address_of, within

# By whether the source, and whether the destination, is internal.
_DIRECTIONS = {
    (True, True): "internal",
    (True, False): "outbound",
    (False, True): "inbound",
    (False, False): "external",
}


class AddNetworkDirection:
    """An event without two addresses is not changed, without an error, as in Filebeat."""

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
