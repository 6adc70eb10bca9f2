"""A Lab whose input is written as a user writes it."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

from log_shipper.config.yaml.load import load
from log_shipper.registry.load import read
from log_shipper.registry.state import FileState
from log_shipper.shipper.options.model import ShipperConfig
from tests.lab import Lab

HOUR = 3600.0
DAY = 24 * HOUR


class UserLab(Lab):
    """A Lab whose input is what a user's YAML says: `options`, beside `paths`. `others` are inputs beside it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.options: dict[str, Any] = {}
        self.others: list[dict[str, Any]] = []
        self._file = directory / "shipper.yml"

    def _config(self) -> ShipperConfig:
        one: dict[str, Any] = {"type": "filestream", "id": "app", "paths": list(self.paths), **self.options}
        queue = {"queue.mem.events": self.queue_events} if self.queue_events else {}
        config = {"shipper.inputs": [one, *self.others], "output.console": {}, "name": "lab", **queue}
        self._file.write_text(json.dumps(config))
        return load(self._file, ShipperConfig)

    def until_messages(self, *expected: str) -> None:
        """Wait until these messages have arrived, and no others. No scan is needed for it: hardly any time passes."""
        self.wait_until(lambda: len(self.messages) >= len(expected), seconds=0.0005)
        assert self.messages == list(expected)

    def ship(self, name: str, *lines: str) -> None:
        """Write the lines, start the agent, and wait until they have arrived; no scan is needed for it."""
        self.append(name, "".join(f"{line}\n" for line in lines))
        self.start()
        self.until_messages(*lines)

    def pass_time(self, seconds: float, steps: int = 20) -> None:
        for _ in range(steps):
            self.step(seconds=seconds / steps, wait=0.002)
        for _ in range(5):
            self.step(seconds=0.01, wait=0.002)

    def is_open(self, name: str) -> bool:
        return self.inode(name) in self.opened_by_agent()

    def date(self, name: str, ago: float = 0.0) -> None:
        then = self.clock.time() - ago
        os.utime(self.logs / name, (then, then))

    def saved(self) -> list[FileState]:
        """Return the registry as it is on disk when the agent was stopped now; it runs on as the next life."""
        self.stop()
        return list(read(self.data / "registry").values())


def pack(lab: UserLab, name: str, content: bytes) -> bytes:
    packed = gzip.compress(content)
    lab.append(name, packed)
    return packed
