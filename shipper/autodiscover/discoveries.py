"""The inputs of running containers, and of ended ones whose files are not read to their end.

Providers report on their own threads; the reading thread applies the reports periodically. An input stays the same
object while nothing about it changes, so that other containers do not disturb it. The input of an ended container stays
for at least `cleanup_timeout`, and until its files are read to their end and acknowledged. Containers may share an
input; it stays until the last of them ends.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from log_shipper.shipper.autodiscover.base import DiscoveredFiles, DiscoveredInput, Reloading
from log_shipper.shipper.autodiscover.configuring import Configured
from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.metrics import ContainerCounts
from log_shipper.shipper.options.inputs import InputConfig

logger = logging.getLogger(__name__)

PAUSE = 0.5  # seconds between two changes of the inputs, and at least ten times the duration of the last one
CHECK_EVERY = 1.0  # seconds between checks whether the files of ended containers are read
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class ContainerReport:
    """A container's new state: its current description and inputs, or None if it has ended."""

    key: str
    container: DiscoveredContainer | None = None
    made: Configured = field(default_factory=Configured)
    cleanup_timeout: float = 0.0


@dataclass(slots=True)
class _Life:
    """A container from its start to its end, with the ids of its inputs; `ended_at`: monotonic time."""

    container: DiscoveredContainer
    made: Configured
    cleanup_timeout: float
    ended_at: float = NEVER
    input_ids: list[str] = field(default_factory=list)


class Discoveries:
    """The inputs. Any thread may call `report`, only the reading thread everything else."""

    def __init__(self, fault_of: Callable[[InputConfig], str], clock: Clock, wake: Callable[[], None]) -> None:
        """Keep the inputs. `fault_of` returns why an input conflicts with the configuration, if it does."""
        self._fault_of = fault_of
        self._clock = clock
        self._wake = wake
        self._reports: deque[ContainerReport] = deque()
        self._lives: dict[str, _Life] = {}
        self._inputs: dict[str, DiscoveredInput] = {}  # by id
        self._users: dict[str, set[str]] = {}  # of each input: the containers that have it
        self._is_changed = False
        self._paused_until = 0.0
        self._checked_at = clock.monotonic()
        self.counts = ContainerCounts()
        self.problems: dict[str, list[str]] = {}  # of existing containers, by key

    def report(self, report: ContainerReport) -> None:
        self._reports.append(report)
        self._wake()

    @property
    def is_settled(self) -> bool:
        """Return True if everything reported so far is being read."""
        return not self._reports and not self._is_changed

    def begin(self) -> Sequence[DiscoveredInput]:
        """Return the inputs of the containers reported so far. The caller reads them."""
        self._take_reports()
        self._is_changed = False
        return list(self._inputs.values())

    def step(self, reloader: Reloading, files: DiscoveredFiles) -> None:
        """Update the inputs to what the containers need now."""
        now = self._clock.monotonic()
        if now < self._paused_until:
            return
        self._take_reports()
        if now >= self._checked_at + CHECK_EVERY:
            self._checked_at = now
            self._forget_ended(now, files)
        if not self._is_changed:
            return
        self._is_changed = False
        self.begun(reloader.discover(list(self._inputs.values())), files.shared())
        ended = self._clock.monotonic()
        self._paused_until = ended + max(PAUSE, 10 * (ended - now))

    def begun(self, refused: Mapping[str, str], shared: Collection[str]) -> None:
        """Record the result: why some inputs are not read, by id, and which share files with others."""
        for input_id, why in refused.items():
            for key in self._users.get(input_id, ()):
                life = self._lives[key]
                if f"{input_id}: {why}" not in life.made.refused:
                    life.made.refused.append(f"{input_id}: {why}")
                    self._refuse(life.container, life.made.refused[-1])
        for input_id in shared:
            for key in self._users.get(input_id, ()):
                self._warn_of_sharing(self._lives[key], input_id)

    def _take_reports(self) -> None:
        if not self._reports:
            return  # nearly always: a busy loop steps hundreds of times a second
        while self._reports:
            self._take(self._reports.popleft())
        self._count()

    def _take(self, report: ContainerReport) -> None:
        self.counts.events += 1
        life = self._lives.get(report.key)
        if report.container is not None:
            self._begin(_Life(report.container, report.made, report.cleanup_timeout), life)
        elif life is not None:
            life.ended_at = min(life.ended_at, self._clock.monotonic())

    def _begin(self, life: _Life, before: _Life | None) -> None:
        container = life.container
        self._lives[container.key] = life
        known = before.made.refused + before.made.warnings if before is not None else []
        self.problems.pop(container.key, None)
        for words in life.made.warnings:
            if words not in known:
                self.counts.left_out += 1
                logger.warning("%s: %s", container.label, words)
        for config in life.made.inputs:
            input_id = self._add(config, container)
            if input_id:
                life.input_ids.append(input_id)
                life.made.shares |= {input_id} if config.id in life.made.shares else set()
        for words in life.made.refused:
            self._refuse(container, words, is_known=words in known)
        if before is not None:
            self._leave(container.key, set(before.input_ids) - set(life.input_ids))

    def _refuse(self, container: DiscoveredContainer, words: str, *, is_known: bool = False) -> None:
        self.problems.setdefault(container.key, []).append(f"{container.label}: {words}")
        if not is_known:
            self.counts.refused += 1
            logger.error("%s: not read: %s", container.label, words)

    def _add(self, config: InputConfig, container: DiscoveredContainer) -> str:
        """Assign an input to the container, and return its id; nothing if it is refused."""
        fault = self._fault_of(config)
        if fault:
            self._lives[container.key].made.refused.append(f"{config.id}: {fault}")
            return ""
        if self._is_taken(config, container):
            config = replace(config, id=f"{config.id}-{container.id}")
        users = self._users.setdefault(config.id, set())
        known = self._inputs.get(config.id)
        is_as_before = known is not None and known.config == config
        if not is_as_before or (
            users <= {container.key} and known is not None and known.metadata != container.metadata
        ):
            self._inputs[config.id] = DiscoveredInput(config, container.metadata)
            self._is_changed = True
            logger.info("%s: input %s reads %s", container.label, config.id, ", ".join(config.paths))
        users.add(container.key)
        return config.id

    def _is_taken(self, config: InputConfig, container: DiscoveredContainer) -> bool:
        """Return True if another container has a different input with this id."""
        known = self._inputs.get(config.id)
        return known is not None and known.config != config and not self._users[config.id] <= {container.key}

    def _leave(self, key: str, input_ids: Iterable[str]) -> None:
        for input_id in input_ids:
            users = self._users[input_id]
            users.discard(key)
            if not users:
                del self._users[input_id], self._inputs[input_id]
                self._is_changed = True

    def _forget_ended(self, now: float, files: DiscoveredFiles) -> None:
        due = {key: life for key, life in self._lives.items() if life.ended_at + life.cleanup_timeout <= now}
        if not due:
            return
        unread = files.unread({input_id for life in due.values() for input_id in life.input_ids})
        for key, life in due.items():
            if unread.isdisjoint(life.input_ids):
                del self._lives[key]
                self.problems.pop(key, None)
                self._leave(key, life.input_ids)
                logger.debug("%s: read to its end", life.container.label)
        self._count()

    def _count(self) -> None:
        ended = [life for life in self._lives.values() if life.ended_at < NEVER]
        self.counts.containers = len(self._lives) - len(ended)
        self.counts.inputs = len(self._inputs)
        self.counts.ending = len({input_id for life in ended for input_id in life.input_ids})

    def _warn_of_sharing(self, life: _Life, input_id: str) -> None:
        if input_id not in life.made.shares:
            life.made.shares.add(input_id)
            logger.warning(
                "%s: another input also reads files of input %s, so their lines are shipped twice: change the "
                "templates, providers or inputs so that only one matches",
                life.container.label,
                input_id,
            )
