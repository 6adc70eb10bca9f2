"""Maintenance during `run`: like `spark-sink maintain`, every `maintenance.interval`, in a separate process.

Compaction takes memory, which the process returns to the system at its end, and CPU, for which batches have priority. A
failed round is logged, and the next one follows; a killed one leaves the tables unchanged (`maintain`).
"""

import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.spark_sink import logs
from log_shipper.spark_sink.options.model import SinkConfig

logger = logging.getLogger(__name__)

FIRST = 600.0  # seconds until the first round, or the interval if that is shorter
NICE = 10
STOP_SECONDS = 5.0
_COMMAND = ("-m", "log_shipper.spark_sink.maintenance.rounds")


@dataclass(slots=True)
class Rounds:
    """The rounds of one run. `ended` is called after each one, with True if all its steps succeeded. Used by one
    thread."""

    config: SinkConfig
    ended: Callable[[bool], None]
    clock: Callable[[], float] = time.monotonic
    command: tuple[str, ...] = (sys.executable, *_COMMAND)
    _round: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _due: float = field(init=False)

    def __post_init__(self) -> None:
        interval = self.config.maintenance.interval
        self._due = self.clock() + min(interval, FIRST) if interval else float("inf")

    def step(self) -> None:
        """Start a round that is due, or report the end of the running one. Never blocks."""
        if self._round is None:
            if self.clock() >= self._due:
                self._start()
        elif (code := self._round.poll()) is not None:
            self._round = None
            if code < 0:
                logger.warning(
                    f"table maintenance was killed ({signal.Signals(-code).name}; out of memory?); retrying in the "
                    "next round"
                )
            self.ended(code == 0)

    def stop(self) -> None:
        """End the running round, if any. Waits at most STOP_SECONDS."""
        if self._round is None:
            return
        self._round.terminate()
        try:
            self._round.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._round.kill()
            self._round.wait()
        self._round = None

    def _start(self) -> None:
        self._due = self.clock() + self.config.maintenance.interval
        # The driver's search path, however its packages were installed.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            started = subprocess.Popen(self.command, stdin=subprocess.PIPE, env=environment)
            assert started.stdin is not None
            with started.stdin as given:
                given.write(pickle.dumps(self.config))
        except OSError as error:
            logger.error(f"cannot start table maintenance: {error}. Landing continues; the next round retries")
            self.ended(False)
            return
        self._round = started


def main() -> int:
    """Run one round with the configuration from standard input. Returns the exit code of `maintain`."""
    config: SinkConfig = pickle.loads(sys.stdin.buffer.read())
    from log_shipper.spark_sink.maintenance.maintain import Maintenance

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the group, and `run` ends this process
    os.nice(NICE)
    logs.set_up(logs.is_text(config.logging), config.logging)
    return Maintenance(config, dry_run=False).run()


if __name__ == "__main__":
    raise SystemExit(main())
