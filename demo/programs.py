"""The demo's programs beside the broker: starts, monitors and stops them in order."""

import subprocess
from dataclasses import dataclass

from demo.process import end, last_lines, spawn
from demo.site import Site

STOP_TIMEOUT = 30.0  # seconds: the sink first finishes its batch
KILL_TIMEOUT = 2.0


class DemoFailed(Exception):
    """Raised when a program or a step of the demo fails; the text has the last lines of the program's output."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    process: subprocess.Popen[bytes]


class Programs:
    """The demo's processes by name. `end_all` stops them in reverse order of their start."""

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
        """Raise DemoFailed if a program has exited."""
        for program in self._running:
            if (status := program.process.poll()) is not None:
                raise self._failed(program, f"exited unexpectedly with status {status}")

    def end(self, name: str) -> None:
        """Send SIGTERM, and wait. Raises DemoFailed if the exit status is not 0."""
        program = next(program for program in self._running if program.name == name)
        status = end(program.process, STOP_TIMEOUT)
        self._running.remove(program)
        if status != 0:
            raise self._failed(program, f"exited with status {status} after SIGTERM")

    def end_all(self) -> None:
        """Stop all quickly: events in flight are no longer needed."""
        while self._running:
            end(self._running.pop().process, KILL_TIMEOUT)

    def leave_running(self) -> None:
        """Leave the processes running: from now on, `end_all` does nothing."""
        self._running.clear()

    def _failed(self, program: Program, problem: str) -> DemoFailed:
        output = last_lines(self._site.log_of(program.name))
        return DemoFailed(f"the {program.name} {problem}. Last lines of its output:\n{output}")
