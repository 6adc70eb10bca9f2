"""`shipper tap` beside an agent."""

import subprocess
from pathlib import Path
from typing import Self

from demo.process import SHIPPER_PROGRAM
from tests.e2e.running import REPOSITORY


def of_data(data: Path) -> list[str]:
    """Return the options by which a command finds the agent with this path.data."""
    return ["--path.data", str(data), "-c", str(data / "none.yml")]


class Tapped:
    """A `shipper tap` that is known to be connected."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments

    def __enter__(self) -> Self:
        command = [*SHIPPER_PROGRAM, "tap", *self._arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=REPOSITORY, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stderr is not None
        assert "connected" in self.process.stderr.readline()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
