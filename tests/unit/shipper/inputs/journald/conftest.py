"""A feed that reads a journal by the fake journalctl, driven step by step."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.factory import FeedEntries
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.journald.feed import JournaldFeed
from log_shipper.shipper.inputs.journald.host import ThisHost
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.wake import Wake
from tests.builders import AGENT, source_context
from tests.fake_journalctl import Journal, installed
from tests.fakes import ManualClock
from tests.memory_registry import MemoryFiles, memory_store

PATIENCE = 60.0  # seconds; a test that waits so long fails


class NotedWake(Wake):
    """One that notes whether a descriptor has woken the loop."""

    has_rung = False

    def watch(self, fd: int, ready: Callable[[], None], *, hints: bool = False) -> None:
        def ring() -> None:
            self.has_rung = True
            ready()

        super().watch(fd, ring, hints=hints)


class JournalLab:
    """`start` makes a feed, `stop` ends it, and another start reads on where the registry says. `given` are the events
    of the feed that reads now."""

    def __init__(self, directory: Path) -> None:
        self.journal = Journal(directory / "journal")
        self.program = installed(directory)
        self.clock = ManualClock()
        self.metrics = Metrics()
        self._files = MemoryFiles()
        self._load()
        self.batches: list[Batch] = []
        self.feed: JournaldFeed
        self._wake = NotedWake()

    def boot(self) -> None:
        """Begin with what the registry has on disk, as another process does."""
        self.registrar.close(PATIENCE)
        self._load()

    def _load(self) -> None:
        self.registrar = Registrar(memory_store(files=self._files))
        self.entries = FeedEntries(self.registrar)

    def start(self, *, once: bool = False, process: Any = None, **options: Any) -> None:
        given = {"paths": (str(self.journal.directory),), "journalctl_path": str(self.program)} | options
        config = JournaldConfig(id="sys", **given)
        feed_input = FeedInput(
            config, AGENT, {}, config.message_max_bytes, self.clock, self.entries.save, process, self.metrics
        )
        context = source_context(self.registrar, self.clock, self.metrics, once=once)
        self.batches = []
        self.feed = JournaldFeed(feed_input, context, self.entries.entries_of("sys"), ThisHost(self._wake))

    def stop(self) -> None:
        self.feed.stop()

    def close(self) -> None:
        self._wake.close()

    def step(self) -> None:
        self.feed.step()
        self.batches += self.feed.read(128 * 1024)
        self.registrar.step()

    def read_one(self) -> Batch:
        """Read as a loop does whose pipeline is full after the first batch; return that."""
        for _ in range(2000):
            self.feed.step()
            reading = self.feed.read(128 * 1024)
            batch = next(reading, None)
            reading.close()  # type: ignore[attr-defined]  # it is a generator
            if batch is not None:
                return batch
            self._wake.wait(PATIENCE / 2000)
        raise AssertionError("nothing was read")

    def wait_until(self, done: Callable[[], bool]) -> None:
        for _ in range(2000):
            self.step()
            if done():
                return
            self._wake.wait(PATIENCE / 2000)
        raise AssertionError(f"read only {self.texts}; {self.feed.status()}")

    def rings(self, seconds: float) -> bool:
        """Take a step; True if the loop is woken within so many seconds."""
        self._wake.clear()
        self.step()
        self._wake.has_rung = False
        self._wake.wait(seconds)
        return self._wake.has_rung

    def read(self, *texts: str) -> None:
        """Read until there are so many events, and check their texts."""
        self.wait_until(lambda: len(self.texts) >= len(texts))
        assert self.texts == list(texts)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch.messages.texts]

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(batch.source.file_id, offset) for batch in self.batches for offset in batch.messages.offsets]

    @property
    def docs(self) -> list[dict[str, Any]]:
        return [doc for batch in self.batches for doc in batch.messages.documents()]

    @property
    def state(self) -> FileState:
        """Return the entry of the journal's sequence."""
        (state,) = [state for state in self.entries.entries_of("sys") if state.key == self.journal.sequence]
        return state

    def acknowledge(self) -> None:
        for batch in self.batches:
            batch.resolve()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[JournalLab]:
    made = JournalLab(tmp_path)
    yield made
    if hasattr(made, "feed"):
        made.stop()
    made.close()
