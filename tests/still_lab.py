"""A Lab without threads: what its agent does is decided by the test alone, so one program always has one outcome."""

import os
import select
from collections.abc import Callable
from functools import partial
from pathlib import Path

from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.agent.environment import Threads
from log_shipper.shipper.inputs.files.discovery.watch import Inotify
from tests.lab import Lab

# The kernel takes some 10 ms to close an inotify instance, a fourth of a program's time.
_free: list[int] = []


class StillRegistrar(Registrar):
    """Writes when the test calls `step`, and when it is closed."""

    def start(self) -> None:
        pass

    def close(self, timeout: float) -> bool:
        now = self._clock()
        self._pending.close(now + timeout, now)
        self._run()
        return self.failure is None and self._pending.empty


class StillInotify(Inotify):
    """Takes its descriptor from those that ended agents had."""

    def __init__(self, on_overflow: Callable[[], None]) -> None:
        super().__init__(on_overflow)
        self._has_events = select.poll()
        self._has_events.register(self._inotify_fd, select.POLLIN)

    @classmethod
    def _create_inotify_fd(cls) -> int:
        return _free.pop() if _free else super()._create_inotify_fd()

    def _close_resources(self) -> None:
        while self._has_events.poll(0):  # that its watches were removed
            os.read(self._inotify_fd, 65536)
        _free.append(self._inotify_fd)
        os.close(self._kill_r)
        os.close(self._kill_w)


class StillLab(Lab):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.threads = Threads(partial(StillRegistrar, clock=self.clock.monotonic), StillInotify)

    def step(self, seconds: float = 0.005, wait: float = 0.0) -> None:
        """Step the registrar before and after the loop, as it is faster; then check the indexes of the files."""
        self.running.registrar.step()
        super().step(seconds)
        self.running.registrar.step()
        self.check()

    def step_without_saving(self, seconds: float = 0.005) -> None:
        """Step the loop alone, as with a disk that does not respond."""
        super().step(seconds)

    def check(self) -> None:
        self.crawler.files.check()
        self.crawler.scheduler.check(self.crawler.running)
