"""What a provider does with what it sees: it reports what has changed, with the inputs that follow from it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.shipper.autodiscover.configuring import Configured, Configurer
from log_shipper.shipper.autodiscover.containers import Container
from log_shipper.shipper.autodiscover.discoveries import Report

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Reporter:
    """Used by one thread of the provider: what a container's inputs are is worked out there, and not by the thread that
    reads."""

    configurer: Configurer
    cleanup_timeout: float
    report: Callable[[Report], None]
    _present: dict[str, Container] = field(default_factory=dict)

    def present(self, container: Container) -> None:
        """Report a container that is there, if it is new or anything about it has changed."""
        if self._present.get(container.key) != container:
            self._present[container.key] = container
            self.report(Report(container.key, container, self._configured(container), self.cleanup_timeout))

    def _configured(self, container: Container) -> Configured:
        try:
            return self.configurer.configure(container)
        except Exception as error:
            logger.exception("%s: its configuration failed unexpectedly", container.label)
            return Configured(refused=[f"its configuration failed unexpectedly: {error!r:.200}"])

    def ended(self, key: str) -> None:
        """Report that a container has ended, once."""
        if self._present.pop(key, None) is not None:
            self.report(Report(key))

    def is_present(self, key: str) -> bool:
        """True if a container was reported, and its end was not."""
        return key in self._present
