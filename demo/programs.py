"""The three programs that the demo runs beside the broker: started, watched, ended in order."""

import subprocess
from dataclasses import dataclass

from demo.process import end, last_lines, spawn
from demo.site import Site

PATIENCE = 30.0  # seconds for a clean end: the sink finishes its batch first
HASTE = 2.0


class DemoFailed(Exception):
    """Raised when something that should run or happen did not; the text names it, with the end of its output."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    process: subprocess.Popen[bytes]


class Programs:
    """Our own processes by name. `end_all` ends them, the last started first."""

    def __init__(self, site: Site, outlive: bool) -> None:
        self._site = site
        self._outlive = outlive
        self._running: list[Program] = []

    @property
    def pids(self) -> list[int]:
        return [program.process.pid for program in self._running]

    def start(self, name: str, command: list[str]) -> None:
        log = self._site.log_of(name)
        process = spawn(command, log, self._site.environment(), self._outlive)
        self._running.append(Program(name, process))

    def check(self) -> None:
        """Raise DemoFailed if one has ended by itself."""
        for program in self._running:
            if (status := program.process.poll()) is not None:
                raise self._failed(program, f"ended by itself with status {status}")

    def end(self, name: str) -> None:
        """Send SIGTERM, and wait. Raises DemoFailed if the exit status is not 0."""
        program = next(program for program in self._running if program.name == name)
        status = end(program.process, PATIENCE)
        self._running.remove(program)
        if status != 0:
            raise self._failed(program, f"ended with status {status} after SIGTERM")

    def end_all(self) -> None:
        """End all quickly: what is in flight is not needed any more."""
        while self._running:
            end(self._running.pop().process, HASTE)

    def leave_running(self) -> None:
        """Leave the processes running: `end_all` does nothing from now on."""
        self._running.clear()

    def _failed(self, program: Program, what: str) -> DemoFailed:
        return DemoFailed(
            f"the {program.name} {what}; the end of its output:\n{last_lines(self._site.log_of(program.name))}"
        )
