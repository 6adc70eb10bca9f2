"""Reports a provider's changes, with the inputs that result from them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.shipper.autodiscover.configuring import Configured, Configurer
from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.autodiscover.discoveries import ContainerReport

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ContainerReporter:
    """Used by one thread of the provider, which computes a container's inputs instead of the reading thread."""

    configurer: Configurer
    cleanup_timeout: float
    report: Callable[[ContainerReport], None]
    _present: dict[str, DiscoveredContainer] = field(default_factory=dict)

    def present(self, container: DiscoveredContainer) -> None:
        """Report an existing container if it is new or has changed."""
        if self._present.get(container.key) != container:
            self._present[container.key] = container
            self.report(ContainerReport(container.key, container, self._configured(container), self.cleanup_timeout))

    def _configured(self, container: DiscoveredContainer) -> Configured:
        try:
            return self.configurer.configure(container)
        except Exception as error:
            logger.exception("%s: unexpected error in its configuration", container.label)
            return Configured(refused=[f"unexpected error in its configuration: {error!r:.200}"])

    def ended(self, key: str) -> None:
        """Report once that a container has ended."""
        if self._present.pop(key, None) is not None:
            self.report(ContainerReport(key))

    def is_present(self, key: str) -> bool:
        """Return True if a container was reported, but not its end."""
        return key in self._present
