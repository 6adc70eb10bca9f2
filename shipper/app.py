"""The composition root: every part is made and started here in this order, and stopped in reverse.

registrar -> output -> queue and publisher -> crawler
"""

import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from log_shipper.config.shipper.model import ConsoleOutputConfig, ShipperConfig
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.store import Store
from log_shipper.runtime.logs.folding import EACH
from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.runtime.systemd import Notifier
from log_shipper.shipper.clock import Clock, SystemClock
from log_shipper.shipper.codecs import fit_for
from log_shipper.shipper.committed_positions import Stopped, resume
from log_shipper.shipper.data_directory import DataDirectory
from log_shipper.shipper.ending import Ending, left
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs import Containers, InputFactory
from log_shipper.shipper.loop import LONGEST_WAIT, Loop
from log_shipper.shipper.memory import FreedMemory, tune_interpreter
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.base import CommitsPositions, Output
from log_shipper.shipper.output_context import OutputContext, QueueParts
from log_shipper.shipper.outputs import build_output, dead_letters, disk_stage
from log_shipper.shipper.pipeline.pipeline import Pipeline
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.services import Services
from log_shipper.shipper.progress import Progress
from log_shipper.shipper.record import Agent
from log_shipper.shipper.reload import ConfigSource, Reloader
from log_shipper.shipper.service import Observed, Pulse, Service
from log_shipper.shipper.source.base import BatchSource, ReadsToEnd, SourceContext
from log_shipper.shipper.source.crawler import CrawlerOptions
from log_shipper.shipper.source.discovery.watch import Inotify
from log_shipper.shipper.source.observation import Observation
from log_shipper.shipper.source.reading.staging import Staging
from log_shipper.shipper.sources import containers_of, make_source, watcher_of
from log_shipper.shipper.summary import Summary
from log_shipper.shipper.wake import Wake

logger = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_UNFINISHED = 1
EXIT_DEAD_LETTER = 3
NEVER = float("inf")
LOOK_INTERVAL = 0.1  # seconds between two looks at all beside the events, where steps of the loop follow each other


@dataclass(frozen=True, slots=True)
class App:
    """The parts that run, for their driver: `run` below, or a test step by step."""

    loop: Loop
    source: BatchSource
    registrar: Registrar
    metrics: Metrics
    summary: Summary
    reloader: Reloader
    pipeline: Pipeline
    agent: Agent
    observe: Callable[[], Observation]  # what the monitor reads of the source
    services: Services  # and of what its processors watch
    pulse: Pulse
    containers: Containers

    def silent_for(self, now: float) -> float:
        """Return the seconds since the reading thread began a step, or made progress within one. Any thread may ask."""
        return max(now - max(self.loop.stepped, self.pulse.last), 0.0)


class Observer(Protocol):
    """Shows the agent to others while it runs (monitor/composition.py)."""

    def opened(self) -> None:
        """Note that path.data and the registry are open. The agent may have to wait for its output after that."""

    def observe(self, app: App) -> None:
        """Note that the agent is composed."""

    def stopping(self) -> None:
        """Note that it stops."""


class NoObserver:
    """While no one looks."""

    def opened(self) -> None: ...

    def observe(self, app: App) -> None: ...

    def stopping(self) -> None: ...


MakeObserver = Callable[[ExitStack], Observer]  # which closes it
Connect = Callable[[ShipperConfig, OutputContext], Output]


def not_observed(stack: ExitStack) -> Observer:
    return NoObserver()


@dataclass(frozen=True, slots=True)
class Threads:
    """Makes the parts that depend on threads or the kernel; a test may pass parts that it drives step by step."""

    registrar: Callable[[Store, float, Callable[[], None]], Registrar] = Registrar
    inotify: Callable[[Callable[[], None]], Inotify] = Inotify


THREADS = Threads()


@dataclass(frozen=True, slots=True)
class Environment:
    """What the caller passes to a run of the agent, beside its configuration.

    `reading` decides when the configuration is read again, and how. `connect` makes the output; a test passes its own
    to be the destination. `stopping` ends a start that waits for the output. `service` is what its manager knows of it.
    `opened` is called when path.data and the registry are open. `make_provider` makes what watches containers.
    """

    data: Path
    wake: Wake
    clock: Clock = field(default_factory=SystemClock)
    once: bool = False
    reading: ConfigSource | None = None
    connect: Connect = build_output
    threads: Threads = THREADS
    stopping: Callable[[], bool] = lambda: False
    service: Service = field(default_factory=lambda: Service(Notifier(), SystemClock()))
    opened: Callable[[], None] = lambda: None
    make_provider: Any = None  # autodiscover.composition.MakeProvider, of a test


def build(config: ShipperConfig, environment: Environment, stack: ExitStack) -> App:
    """Make and connect all parts, and start those with a thread. `stack` closes them in reverse.

    Raises StartError, Stopped, RegistryError, OSError; nothing has been read by then.
    """
    data, wake, clock = environment.data, environment.wake, environment.clock
    metrics, pulse = Metrics(), Pulse(clock, environment.service.working)
    agent, first_start, store = _open_data(config, data, clock)
    registrar = _start_registrar(store, config, environment, stack)
    environment.opened()

    queue = MemoryQueue(config.queue.mem.events, config.queue.mem.bytes)
    publisher = Publisher(queue, dead_letters(config, data, clock), metrics, clock)
    staging = Staging()
    output = environment.connect(config, OutputContext(publisher, metrics, clock, agent, staging))
    stack.callback(output.close)
    if isinstance(output, CommitsPositions):
        resume(output, registrar, is_new=store.is_new, stopping=environment.stopping)

    stage = staging.of if isinstance(output, CommitsPositions) else None
    processor_context = _processor_context(agent, metrics, environment, stack)
    input_factory = InputFactory(processor_context, registrar, stage)
    containers = containers_of(config, environment, stack)
    inputs = input_factory.build(config, containers.first)
    disk = disk_stage(config, environment, QueueParts(queue, registrar, staging if stage else None, stack))
    processing = Processing(queue, fit_for(config, metrics), None if disk is None else disk.put)
    pipeline = Pipeline(processing, queue, publisher, output, disk)
    context = _source_context(registrar, environment, metrics, pipeline, containers, pulse)
    options = CrawlerOptions(first_start, config.read_interval, config.queue.mem.pending_bytes)
    watcher = partial(watcher_of, wake, stack, environment.threads.inotify)
    made = make_source(inputs, context, options, wake, watcher)
    loop = Loop(made.source, pipeline, context, wake, config.read_interval)
    reading = environment.reading or ConfigSource(read=lambda: config, is_requested=lambda: False)
    reloader = Reloader(config, reading, input_factory, made.replace_inputs, clock, containers.first)
    containers.connect(reloader, made.files, input_factory.refused)
    summary = Summary(metrics, made.source, clock, _summary_interval(config))
    return App(
        loop,
        made.source,
        registrar,
        metrics,
        summary,
        reloader,
        pipeline,
        agent,
        made.observe,
        processor_context.services,
        pulse,
        containers,
    )


def _processor_context(agent: Agent, metrics: Metrics, environment: Environment, stack: ExitStack) -> ProcessorContext:
    caches = Caches(environment.clock, environment.data / "cache_processor")
    stack.callback(caches.close)
    wake = environment.wake.from_outside()
    return ProcessorContext(agent, environment.data, metrics, environment.clock, caches, wake)


def _source_context(
    registrar: Registrar,
    environment: Environment,
    metrics: Metrics,
    pipeline: Pipeline,
    containers: Containers,
    pulse: Pulse,
) -> SourceContext:
    return SourceContext(
        registrar,
        environment.clock,
        metrics,
        environment.once,
        pipeline.takes_more,
        lambda: pipeline.has_room,
        pulse.beat,
        lambda: containers.knows_all,
        lambda: pipeline.flooded,
    )


def _open_data(config: ShipperConfig, data: Path, clock: Clock) -> tuple[Agent, float, Store]:
    """Open path.data and return what is kept in it: the agent's id, its first start, and the registry."""
    directory = DataDirectory(data)
    with directory.translating_errors():
        directory.make()
        agent = directory.agent(config.name)
        first_start = directory.first_start(clock.time())
        store = Store.open(data / config.registry.path, DiskFiles(int(config.registry.file_permissions, 8)))
    store.before_recreating = directory.make
    return agent, first_start, store


def _start_registrar(store: Store, config: ShipperConfig, environment: Environment, stack: ExitStack) -> Registrar:
    stack.callback(store.close)
    registrar = environment.threads.registrar(store, config.registry.flush, environment.wake.set)
    # Also if an error ends the run: what was acknowledged is saved, and the thread must not outlive the store.
    stack.callback(registrar.close, 1.0)
    registrar.start()
    return registrar


def _summary_interval(config: ShipperConfig) -> float:
    metrics = config.logging.metrics
    return metrics.period if metrics.enabled else NEVER


def run(
    config: ShipperConfig,
    environment: Environment,
    *,
    stopping: Callable[[], bool],
    once_timeout: float = NEVER,
    terminal: TerminalHandler | None = None,
    observer: MakeObserver = not_observed,
) -> int:
    """Run until `stopping`, or with `once` until every file is delivered, for at most `once_timeout` seconds. Return
    the exit code. Raises as `build`."""
    clock, once, service = environment.clock, environment.once, environment.service
    if once and not config.has_inputs:
        raise StartError("no input is enabled: --once has nothing to read")
    ending = Ending(stopping, once_timeout, clock)

    def stopping_early() -> bool:
        service.waiting()
        return ending.is_due

    with ExitStack() as stack:
        observed_by = observer(stack)
        try:
            app = build(config, replace(environment, stopping=stopping_early, opened=observed_by.opened), stack)
        except Stopped:
            if once:
                logger.error("not finished: %s, before Kafka sent the committed positions", ending.reason)
            return EXIT_UNFINISHED if once else EXIT_OK
        observed_by.observe(app)
        logger.info(
            "started: %d input%s, data in %s", len(config.inputs), "s"[: len(config.inputs) != 1], environment.data
        )
        tune_interpreter()
        progress = Progress(_progress_terminal(terminal, config, once=once), app.metrics, app.source, clock)
        stack.callback(progress.close)
        observed, freed = Observed(app.metrics, app.source), FreedMemory(app.metrics, clock)
        looks = (app.reloader.step, app.containers.step, app.summary.step, progress.step, freed.step)
        looks_at, wait = clock.monotonic(), LONGEST_WAIT
        while not ending.is_due and not app.loop.finished:
            app.loop.step(wait=service.longest_wait(wait))
            if (now := clock.monotonic()) < looks_at:
                wait = LOOK_INTERVAL
                continue
            looks_at, wait = now + LOOK_INTERVAL, LONGEST_WAIT
            for look in looks:
                look()
            service.step(observed)
        progress.close()
        observed_by.stopping()
        return _end(app, config, environment, ending.reason)


def _progress_terminal(
    terminal: TerminalHandler | None, config: ShipperConfig, *, once: bool
) -> TerminalHandler | None:
    """Return where progress is shown; None if not: it must not mix with records that are written to the same
    terminal."""
    records = isinstance(config.output.chosen, ConsoleOutputConfig) and sys.stdout is not None and sys.stdout.isatty()
    return terminal if once and not records else None


def _end(app: App, config: ShipperConfig, environment: Environment, why: str) -> int:
    """Stop reading (where `read_until_eof` is set at the ends of files), wait for acknowledgements, give up what is not
    acknowledged (it is read again). Return the exit code. `why` it ends, if it has not finished."""
    clock, once, service, source = environment.clock, environment.once, environment.service, app.source
    finished = app.loop.finished
    service.stopping()
    deadline = clock.monotonic() + config.shutdown_timeout
    while not once and isinstance(source, ReadsToEnd) and not source.read_to_end(deadline - clock.monotonic()):
        app.loop.step(wait=0.05)
        service.draining()
    while not app.loop.drained and clock.monotonic() < deadline:
        app.loop.step(reading=False, wait=0.05)
        service.draining()
    if app.pipeline.disk is not None:
        app.pipeline.disk.close(max(config.shutdown_timeout, 1.0))
    status = app.source.status()
    app.source.stop()
    app.summary.last(status)
    longest = max(config.shutdown_timeout, 1.0)
    service.saving(longest)
    saved = app.registrar.close(longest)
    if not saved:
        logger.error("the registry could not be saved: what was acknowledged last is sent again at the next start")
    if not once and not finished:  # without --once only standard input ends
        return EXIT_OK
    for path, problem in status.problems.items():
        logger.error("not finished: %s: %s", path, problem, extra=EACH)
    if not finished:
        logger.error("not finished: %s, and %s; run it again to continue", why, left(status))
    if not finished or status.problems or not saved:
        return EXIT_UNFINISHED
    return EXIT_DEAD_LETTER if app.metrics.events_dead_lettered else EXIT_OK
