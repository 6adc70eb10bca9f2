"""The composition root: every part is made here, in the order in which it starts, and stopped in reverse.

registrar -> output -> queue and publisher -> crawler
"""

import gc
import logging
import resource
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from watchdog.observers.inotify_c import InotifyFD

from config.shipper.model import ConsoleOutputConfig, KafkaOutputConfig, ShipperConfig
from logs.terminal import TerminalHandler
from registry.files import DiskFiles
from registry.registrar import Registrar
from registry.store import Store
from shipper.clock import Clock, SystemClock
from shipper.data_directory import DataDirectory
from shipper.inputs import InputFactory, static_fields
from shipper.loop import Loop
from shipper.memory import keep_freed_blocks
from shipper.metrics import Metrics
from shipper.output.base import Output
from shipper.output.kafka_settings import settings
from shipper.outputs import build_output, topic_of
from shipper.pipeline.dead_letter import DeadLetter
from shipper.pipeline.pipeline import Pipeline
from shipper.pipeline.processing import Processing
from shipper.pipeline.publisher import Publisher
from shipper.pipeline.queue import MemoryQueue
from shipper.processor.base import ProcessorContext
from shipper.progress import Progress
from shipper.record import Agent
from shipper.reload import ConfigSource, Reloader, ReplaceInputs
from shipper.source.base import BatchSource, SourceContext
from shipper.source.crawler import Crawler, CrawlerOptions
from shipper.source.discovery.watch import Inotify, Watcher
from shipper.source.stdin import StdinSource, StreamWatcher, open_stdin
from shipper.summary import Summary
from shipper.wake import Wake

logger = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_UNFINISHED = 1
EXIT_DEAD_LETTER = 3
RESERVED_DESCRIPTORS = 200
OPEN_WITH_ONCE = 256
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class App:
    """What is running, for its driver: `run` below, or a test step by step."""

    loop: Loop
    source: BatchSource
    registrar: Registrar
    metrics: Metrics
    summary: Summary
    reloader: Reloader


Connect = Callable[[ShipperConfig, Publisher, Metrics, Clock], Output]


@dataclass(frozen=True, slots=True)
class Threads:
    """Makes the parts that have a thread of their own; a test may give ones that it drives step by step."""

    registrar: Callable[[Store, float, Callable[[], None]], Registrar] = Registrar
    inotify: Callable[[Callable[[], None]], InotifyFD] = Inotify


THREADS = Threads()


@dataclass(frozen=True, slots=True)
class Environment:
    """What a run of the agent gets from the caller, beside its configuration.

    `reading` tells when to read the configuration again, and how. `connect` makes another output than the
    configuration's, for a test that wants to be the destination.
    """

    data: Path
    wake: Wake
    clock: Clock = field(default_factory=SystemClock)
    once: bool = False
    reading: ConfigSource | None = None
    connect: Connect = build_output
    threads: Threads = THREADS


def build(config: ShipperConfig, environment: Environment, stack: ExitStack) -> App:
    """Make and connect all parts, and start those with a thread. `stack` closes what needs closing, in reverse.

    Raises StartError, RegistryError, OSError: nothing has been read by then.
    """
    data, wake, clock, once = environment.data, environment.wake, environment.clock, environment.once
    metrics = Metrics()
    agent, first_start, store = _kept(config, data, clock)
    stack.callback(store.close)
    registrar = environment.threads.registrar(store, config.registry.flush, wake.set)
    # Also when a fault ends the run: what was acknowledged is to be saved, and the thread must not outlive the store.
    stack.callback(registrar.close, 1.0)
    registrar.start()

    queue = MemoryQueue(config.queue.mem.events, config.queue.mem.bytes)
    publisher = Publisher(queue, DeadLetter(data / "dead_letter.ndjson", clock), topic_of(config), metrics, clock)
    output = environment.connect(config, publisher, metrics, clock)
    stack.callback(output.close)

    processor_context = ProcessorContext(agent, data, metrics, clock, wake.from_outside())
    input_factory = InputFactory(processor_context, registrar)
    inputs = input_factory.build(config)
    processing = Processing(queue)
    context = SourceContext(registrar, clock, metrics, once, processing.takes_more)
    source: BatchSource
    replace_inputs: ReplaceInputs | None = None
    if inputs and inputs[0].config.type == "stdin":  # and then it is the only one
        stream = StreamWatcher(wake.watch, wake.unwatch)
        source = StdinSource(open_stdin(inputs[0]), stream, context, pending_bytes=config.queue.mem.pending_bytes)
    else:
        limits = CrawlerOptions(first_start, _most_open(once=once), config.queue.mem.pending_bytes)
        crawler = Crawler(inputs, _watcher(wake, stack, environment.threads), context, limits)
        source, replace_inputs = crawler, crawler.replace_inputs
    loop = Loop(source, Pipeline(processing, queue, publisher, output), registrar, metrics, clock, wake)
    reading = environment.reading or ConfigSource(read=lambda: config, is_requested=lambda: False)
    reloader = Reloader(config, reading, input_factory, replace_inputs, clock)
    summary = Summary(metrics, source, clock, _summary_interval(config))
    return App(loop, source, registrar, metrics, summary, reloader)


def _kept(config: ShipperConfig, data: Path, clock: Clock) -> tuple[Agent, float, Store]:
    """What path.data has: who we are, since when, and the registry."""
    name = config.name or socket.gethostname()
    directory = DataDirectory(data)
    with directory.translating_errors():
        directory.make()
        agent = Agent(name, name, directory.agent_id, version("log-shipper"))
        first_start = directory.first_start(clock.time())
        store = Store.open(data / config.registry.path, DiskFiles(int(config.registry.file_permissions, 8)))
    store.before_remaking = directory.make
    return agent, first_start, store


def _watcher(wake: Wake, stack: ExitStack, threads: Threads) -> Watcher:
    watcher = Watcher(wake.set, threads.inotify)
    stack.callback(watcher.stop)
    watcher.start()
    return watcher


def _summary_interval(config: ShipperConfig) -> float:
    metrics = config.logging.metrics
    return metrics.period if metrics.enabled else NEVER


def check(config: ShipperConfig) -> None:
    """What can be wrong with a configuration beyond its own model, found without starting. Raises StartError."""
    for each in config.inputs:
        static_fields(each, config)
    if isinstance(config.output.chosen, KafkaOutputConfig):
        settings(config.output.chosen)


def _most_open(*, once: bool) -> int:
    """Files that may be open at once: what the system gives, but for those that everything else needs. With `once` they
    are read one after the other, so more would only take room."""
    limit = max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_DESCRIPTORS, 1)
    return min(limit, OPEN_WITH_ONCE) if once else limit


def run(
    config: ShipperConfig,
    environment: Environment,
    *,
    stopping: Callable[[], bool],
    once_timeout: float = NEVER,
    terminal: TerminalHandler | None = None,
) -> int:
    """Run until asked to stop, or with `once` until every file is delivered, for at most `once_timeout` seconds.
    Returns the exit code."""
    clock, once = environment.clock, environment.once
    give_up = clock.monotonic() + once_timeout
    with ExitStack() as stack:
        app = build(config, environment, stack)
        logger.info(
            "started: %d input%s, data in %s", len(config.inputs), "s"[: len(config.inputs) != 1], environment.data
        )
        # The collector would look again and again at millions of short-lived objects that reference counts free.
        gc.freeze()
        gc.set_threshold(200_000, 20, 50)
        keep_freed_blocks()
        # How long the loop waits at worst for the interpreter lock when another thread is busy: 5 ms would be seen.
        sys.setswitchinterval(0.0005)
        progress = Progress(_below(terminal, config, once=once), app.metrics, app.source, clock)
        stack.callback(progress.close)
        while not stopping() and not app.loop.finished and clock.monotonic() < give_up:
            app.loop.step()
            app.reloader.step()
            app.summary.step()
            progress.step()
        progress.close()
        return _end(app, config, once=once, clock=clock)


def _below(terminal: TerminalHandler | None, config: ShipperConfig, *, once: bool) -> TerminalHandler | None:
    """Where progress is shown, if it is: not among the records of an output that writes to the same terminal."""
    records = isinstance(config.output.chosen, ConsoleOutputConfig) and sys.stdout is not None and sys.stdout.isatty()
    return terminal if once and not records else None


def _end(app: App, config: ShipperConfig, *, once: bool, clock: Clock) -> int:
    """close, join, terminate: no more input; wait for acknowledgements; give up the rest, which is read again."""
    finished = app.loop.finished
    deadline = clock.monotonic() + config.shutdown_timeout
    while not app.loop.drained and clock.monotonic() < deadline:
        app.loop.step(reading=False, wait=0.05)
    status = app.source.status()
    app.source.stop()
    app.summary.last(status)
    saved = app.registrar.close(max(config.shutdown_timeout, 1.0))
    if not saved:
        logger.error("the registry could not be saved: what was acknowledged last is sent again at the next start")
    if not once and not finished:  # without --once only standard input comes to an end
        return EXIT_OK
    for path, problem in status.problems.items():
        logger.error("not finished: %s: %s", path, problem)
    if not finished:
        logger.error(
            "not finished: %d bytes of the files found are not delivered; run it again to continue", status.bytes_behind
        )
    if not finished or status.problems or not saved:
        return EXIT_UNFINISHED
    return EXIT_DEAD_LETTER if app.metrics.events_dead_lettered else EXIT_OK
