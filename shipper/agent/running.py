"""Runs the agent to its end: the loop, the periodic checks, and the stop."""

import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from log_shipper.runtime.logs.folding import EACH
from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.shipper.agent.app import App, build
from log_shipper.shipper.agent.committed_positions import Stopped
from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.agent.loop import MAX_WAIT
from log_shipper.shipper.agent.memory import FreedMemory, tune_interpreter
from log_shipper.shipper.agent.progress import Progress
from log_shipper.shipper.agent.service import LoopFigures
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.base import SourceStatus
from log_shipper.shipper.options.model import ShipperConfig

logger = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_UNFINISHED = 1
EXIT_DEAD_LETTER = 3
LOOK_INTERVAL = 0.1  # seconds between periodic checks while the loop is busy


class Observer(Protocol):
    """Exposes the state of the running agent (monitor/composition.py)."""

    def opened(self) -> None:
        """Note that path.data and the registry are open. The agent may still have to wait for its output."""

    def observe(self, app: App) -> None:
        """Note that the agent is composed."""

    def stopping(self) -> None:
        """Note that it stops."""


class NoObserver:
    """A monitor that shows nothing."""

    def opened(self) -> None: ...

    def observe(self, app: App) -> None: ...

    def stopping(self) -> None: ...


MakeObserver = Callable[[ExitStack], Observer]  # which closes it


def not_observed(stack: ExitStack) -> Observer:
    return NoObserver()


class Ending(Protocol):
    """When to end a run that has not finished."""

    @property
    def is_due(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Return the reason."""


class TimedEnding:
    """Ends after a signal, when `stopping` is True, or after the timeout."""

    def __init__(self, stopping: Callable[[], bool], once_timeout: float, clock: Clock) -> None:
        self._stopping = stopping
        self._once_timeout = once_timeout
        self._clock = clock
        self._give_up = clock.monotonic() + once_timeout

    @property
    def is_due(self) -> bool:
        return self._stopping() or self._clock.monotonic() >= self._give_up

    @property
    def reason(self) -> str:
        return "stopped by a signal" if self._stopping() else f"--once-timeout ({self._once_timeout:g} s) expired"


def left(status: SourceStatus) -> str:
    """Return a description of the undelivered files."""
    files = status.reading + status.unsettled + status.waiting
    if not files:
        return "not all files were scanned"
    least = "" if status.is_size_known else "at least "
    count = status.bytes_behind + status.bytes_waiting
    return f"{least}{count:,} bytes of {files:,} file{'s'[: files != 1]} are not delivered"


def run(
    config: ShipperConfig,
    environment: Environment,
    ending: Ending,
    *,
    terminal: TerminalHandler | None = None,
    observer: MakeObserver = not_observed,
) -> int:
    """Run until the `ending` is due, or with `once` until every file is delivered. Return the exit code. Raises as
    `build`.
    """
    clock, once, service = environment.clock, environment.once, environment.service
    if once and not config.has_inputs:
        raise StartError("no input is enabled: --once has nothing to read")

    def stopping_early() -> bool:
        service.waiting()
        return ending.is_due

    with ExitStack() as stack:
        observed_by = observer(stack)
        try:
            app = build(config, replace(environment, stopping=stopping_early, opened=observed_by.opened), stack)
        except Stopped:
            if once:
                logger.error("not finished: %s before Kafka sent the committed positions", ending.reason)
            return EXIT_UNFINISHED if once else EXIT_OK
        observed_by.observe(app)
        inputs = len(app.reloader.running)
        logger.info("started: %d input%s, data in %s", inputs, "s"[: inputs != 1], environment.data)
        tune_interpreter()
        progress = Progress(_progress_terminal(terminal, config, once=once), app.metrics, app.sources, clock)
        stack.callback(progress.close)
        observed, freed = LoopFigures(app.metrics, app.sources), FreedMemory(app.metrics, clock)
        looks = (app.reloader.step, app.containers.step, app.summary.step, progress.step, freed.step)
        looks_at, wait = clock.monotonic(), MAX_WAIT
        while not ending.is_due and not app.loop.finished:
            app.loop.step(wait=service.max_wait(wait))
            if (now := clock.monotonic()) < looks_at:
                wait = LOOK_INTERVAL
                continue
            looks_at, wait = now + LOOK_INTERVAL, MAX_WAIT
            for look in looks:
                look()
            service.step(observed)
        progress.close()
        observed_by.stopping()
        return _end(app, config, environment, ending.reason)


def _progress_terminal(
    terminal: TerminalHandler | None, config: ShipperConfig, *, once: bool
) -> TerminalHandler | None:
    """Return the progress display, or None: it must not mix with records written to the same terminal."""
    records = config.output.chosen.is_stdout and sys.stdout is not None and sys.stdout.isatty()
    return terminal if once and not records else None


def _end(app: App, config: ShipperConfig, environment: Environment, why: str) -> int:
    """Stop reading (with `read_until_eof`, at the end of each file), wait for acknowledgements, and give up the rest,
    which is read again. Return the exit code. `why`: the reason if the run has not finished.
    """
    clock, once, service, sources = environment.clock, environment.once, environment.service, app.sources
    finished = app.loop.finished
    service.stopping()
    deadline = clock.monotonic() + config.shutdown_timeout
    while not once and not sources.read_to_end(deadline - clock.monotonic()):
        app.loop.step(wait=0.05)
        service.draining()
    while not app.pipeline.drained and clock.monotonic() < deadline:
        app.loop.step(reading=False, wait=0.05)
        service.draining()
    if app.pipeline.disk is not None:
        app.pipeline.disk.close(max(config.shutdown_timeout, 1.0))
    status = sources.status()
    sources.stop()
    app.summary.last(status)
    timeout = max(config.shutdown_timeout, 1.0)
    service.saving(timeout)
    saved = app.registrar.close(timeout)
    if not saved:
        logger.error(
            "the registry could not be saved: the most recent acknowledged events will be resent at the next start"
        )
    if not once and not finished:  # without --once, only standard input ends
        return EXIT_OK
    for path, problem in status.problems.items():
        logger.error("not finished: %s: %s", path, problem, extra=EACH)
    if not finished:
        logger.error("not finished: %s, and %s; run it again to continue", why, left(status))
    if not finished or status.problems or not saved:
        return EXIT_UNFINISHED
    return EXIT_DEAD_LETTER if app.metrics.events_dead_lettered else EXIT_OK
