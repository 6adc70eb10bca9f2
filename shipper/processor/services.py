"""Services beside the agent for its processors, such as the Docker watcher.

Each input has its own processors, and a reload makes new ones: those with the same options share a service.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Service = TypeVar("Service")


class Services:
    """Used by the reading thread. A service ends with the last processor that uses it, by a finalizer."""

    def __init__(self) -> None:
        self._by_options: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._kept: list[object] = []

    def shared(self, options: Hashable, make: Callable[[], Service], *, keep: bool = False) -> Service:
        """Return the service for these options, made by `make` if there is none. The options begin with the service's
        name, and include all that distinguishes it. With `keep` it lives as long as the agent."""
        shared: Service | None = self._by_options.get(options)
        if shared is None:
            shared = self._by_options[options] = make()
            if keep:
                self._kept.append(shared)
        return shared

    def running(self, name: str) -> list[Any]:
        """Return the services of this name. Callable from any thread."""
        # A single call copies the references, without interruption.
        keyed = [(reference.key, reference()) for reference in self._by_options.valuerefs()]
        return [
            service
            for options, service in keyed
            if isinstance(options, tuple) and options[0] == name and service is not None
        ]
