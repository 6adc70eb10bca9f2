"""What runs beside the agent for its processors: those that watch a machine's services, as Docker.

Each input has processors of its own, and a reload makes new ones: those with the same options share one service.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Service = TypeVar("Service")


class Services:
    """Used by the reading thread. A service ends with the last processor that has it, by a finalizer of its own."""

    def __init__(self) -> None:
        self._by_options: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._kept: list[object] = []

    def shared(self, options: Hashable, make: Callable[[], Service], *, keep: bool = False) -> Service:
        """Return the service of these options, which `make` makes where there is none. They begin with the service's
        name, and have all that makes it differ from others. With `keep` it is there as long as the agent."""
        shared: Service | None = self._by_options.get(options)
        if shared is None:
            shared = self._by_options[options] = make()
            if keep:
                self._kept.append(shared)
        return shared

    def running(self, name: str) -> list[Any]:
        """Return the services of this name. Any thread may ask."""
        # One call copies the references, which the interpreter does not interrupt.
        keyed = [(reference.key, reference()) for reference in self._by_options.valuerefs()]
        return [
            service
            for options, service in keyed
            if isinstance(options, tuple) and options[0] == name and service is not None
        ]
