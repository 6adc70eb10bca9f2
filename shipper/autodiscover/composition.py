"""The composition of autodiscover: the providers of a configuration, and the reading of their containers."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from log_shipper.shipper.autodiscover.base import DiscoveredFiles, DiscoveredInput, Reloading
from log_shipper.shipper.autodiscover.configuring import Configurer
from log_shipper.shipper.autodiscover.discoveries import Discoveries
from log_shipper.shipper.autodiscover.reporter import ContainerReporter
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.metrics import ContainerCounts
from log_shipper.shipper.options.exactly_once import conflicts
from log_shipper.shipper.options.inputs import InputConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.own_output import reads_own_output
from log_shipper.shipper.options.rooted_fields import refused

logger = logging.getLogger(__name__)

# Maximum seconds that a start waits for the first lists of containers: without them, positions of files that no input
# names look lost; with them, everything is as after a restart without autodiscover.
FIRST_LIST = 5.0
LOOK_EVERY = 0.05
# Seconds after which a server that has not responded since the start no longer delays anything.
MAX_UNKNOWN_SECONDS = 600.0


class RunningProvider(Protocol):
    """Watches containers on its own threads."""

    @property
    def is_listed(self) -> bool:
        """Return True once all existing containers were reported."""

    def start(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What a provider is created with. `reporter` gets its findings; `path` is its path in the configuration."""

    reporter: ContainerReporter
    clock: Clock
    path: str


MakeProvider = Callable[[object, ProviderContext], RunningProvider]


class Autodiscover:
    """Autodiscover; used only by the reading thread."""

    def __init__(
        self, config: ShipperConfig, clock: Clock, wake: Callable[[], None], make: MakeProvider, stack: ExitStack
    ) -> None:
        """Compose it; `stack` closes the providers."""
        self._config = config
        self._reader: tuple[Reloading, DiscoveredFiles] | None = None
        self.first: Sequence[DiscoveredInput] = ()
        self._started_at = clock.monotonic()
        self.knows_all = False  # of the containers that existed at the start
        self.discoveries = Discoveries(self._fault_of, clock, wake)
        self._clock = clock
        self._providers: list[RunningProvider] = []
        for index, provider in enumerate(config.autodiscover.providers):
            path = f"autodiscover.providers[{index}]"
            reporter = ContainerReporter(Configurer(provider, path), provider.cleanup_timeout, self.discoveries.report)
            running = make(provider, ProviderContext(reporter, clock, path))
            stack.callback(running.close)
            self._providers.append(running)

    def start(self, *, wait: Callable[[float], None], stopping: Callable[[], bool]) -> None:
        """Start the providers, and wait a while for the existing containers."""
        for provider in self._providers:
            provider.start()
        deadline = self._clock.monotonic() + FIRST_LIST
        while not self._is_listed and not stopping() and self._clock.monotonic() < deadline:
            wait(LOOK_EVERY)
        self.knows_all = self._is_listed
        if not self.knows_all:
            logger.warning("no list of containers yet; their files are read once it arrives, all others meanwhile")
        self.first = self.discoveries.begin()

    @property
    def counts(self) -> ContainerCounts:
        return self.discoveries.counts

    def problems(self) -> list[str]:
        return sorted(words for listed in self.discoveries.problems.copy().values() for words in tuple(listed))

    def connect(self, reloader: Reloading, files: DiscoveredFiles | None, refused: Mapping[str, str]) -> None:
        """Set the reader of the inputs, and which of those from `start` it refused."""
        assert files is not None, "stdin must be the only input"
        self._reader = reloader, files
        self.discoveries.begun(refused, files.shared())

    def step(self) -> None:
        """Update the inputs to what the containers need now."""
        assert self._reader is not None, "connect() comes first"
        listed = self._is_listed or self._clock.monotonic() >= self._started_at + MAX_UNKNOWN_SECONDS
        self.discoveries.step(*self._reader)
        self.knows_all = self.knows_all or (listed and self.discoveries.is_settled)

    @property
    def _is_listed(self) -> bool:
        return all(provider.is_listed for provider in self._providers)

    def _fault_of(self, item: InputConfig) -> str:
        config = self._reader[0].config if self._reader is not None else self._config
        if any(item.id == other.id for other in config.inputs):
            return "its id is already used in the configuration; choose another one"
        findings = list(reads_own_output((item,), config.written()))
        if item.fields_under_root:
            findings += refused(item.fields)
        if config.output.chosen.commits_positions:
            findings += conflicts((item,), {"processors": item.processors})
        return "; ".join(f"{where}: {words}" for where, words in findings)
