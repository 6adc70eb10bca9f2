"""The composition root: creates and starts every part in this order, and stops them in reverse.

store -> output -> registrar -> queue on disk -> crawler
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from log_shipper.registry.files import DiskFiles
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from log_shipper.shipper.agent.committed_positions import resume
from log_shipper.shipper.agent.data_directory import DataDirectory
from log_shipper.shipper.agent.disk_stage import disk_queue, disk_queue_on_demand
from log_shipper.shipper.agent.environment import Environment, QueueParts
from log_shipper.shipper.agent.inputs import InputFactory
from log_shipper.shipper.agent.loop import Loop
from log_shipper.shipper.agent.reload import ConfigSource, Reloader
from log_shipper.shipper.agent.service import Pulse
from log_shipper.shipper.agent.sources import make_sources, watcher_of
from log_shipper.shipper.agent.summary import Summary
from log_shipper.shipper.autodiscover.base import Containers
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats.record import Agent
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.inputs.files.crawler import CrawlerOptions
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import CommitsPositions, Output
from log_shipper.shipper.outputs.base import OutputContext, kind_of
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile, DeadLetters
from log_shipper.shipper.pipeline.pipeline import Pipeline
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.services import Services

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class App:
    """The running parts, for their driver: `run` (running.py), or a test step by step."""

    loop: Loop
    sources: BatchSources
    registrar: Registrar
    metrics: Metrics
    summary: Summary
    reloader: Reloader
    pipeline: Pipeline
    agent: Agent
    services: Services  # watched by the processors
    pulse: Pulse
    containers: Containers

    def silent_for(self, now: float) -> float:
        """Return the seconds since the reading thread began a step or made progress in it. Callable from any thread."""
        return max(now - max(self.loop.stepped, self.pulse.last), 0.0)


def build(config: ShipperConfig, environment: Environment, stack: ExitStack) -> App:
    """Create and connect all parts, and start those with a thread. `stack` closes them in reverse.

    Raises StartError, Stopped, RegistryError, OSError, before anything is read.
    """
    data, wake, clock = environment.data, environment.wake, environment.clock
    metrics, pulse = Metrics(), Pulse(clock, environment.service.working)
    agent, first_start, store = _open_data(config, data, clock)
    stack.callback(store.close)
    environment.opened()

    queue = MemoryQueue(config.queue.mem.events, config.queue.mem.bytes)
    publisher = Publisher(queue, _dead_letters(config, data, clock), metrics, clock)
    staging = Staging()
    after_output = stack.enter_context(ExitStack())  # closes the parts created after it
    output = environment.connect(config, OutputContext(publisher, metrics, clock, agent, staging))
    stack.callback(output.close)
    registrar = _start_registrar(store, output, config, environment, after_output)

    stage = staging.stage_for if isinstance(output, CommitsPositions) else None
    processor_context = _processor_context(agent, metrics, environment, stack)
    input_factory = InputFactory(processor_context, registrar, stage)
    containers = environment.discover(config, environment, stack)
    inputs = input_factory.build(config, containers.first)
    parts = QueueParts(queue, registrar, staging if stage else None, stack)
    disk, make_disk = disk_queue(config, environment, parts), disk_queue_on_demand(config, environment, parts)
    pipeline = Pipeline(queue, publisher, output, kind_of(config).fit(metrics), disk, make_disk)
    context = SourceContext(registrar, clock, metrics, environment.once, pipeline, pulse, containers)
    options = CrawlerOptions(first_start, config.read_interval, config.queue.mem.pending_bytes)
    watcher = partial(watcher_of, wake, stack, environment.threads.inotify)
    made = make_sources(inputs, context, options, wake, watcher)
    loop = Loop(made.sources, pipeline, context, wake, config.read_interval)
    reading = environment.reading or ConfigSource(read=lambda: config, is_requested=lambda: False)
    reloader = Reloader(config, reading, input_factory, made.replace_inputs, clock, containers.first)
    containers.connect(reloader, made.crawler, input_factory.refused)
    summary = Summary(metrics, made.sources, clock, _summary_interval(config))
    return App(
        loop,
        made.sources,
        registrar,
        metrics,
        summary,
        reloader,
        pipeline,
        agent,
        processor_context.services,
        pulse,
        containers,
    )


def _dead_letters(config: ShipperConfig, data: Path, clock: Clock) -> DeadLetters:
    """Return the store of events that the output rejects; `data`: path.data."""
    file = DeadLetterFile(data / FILE, clock, rotate_at=config.dead_letter.rotate_every)
    topic = config.dead_letter.kafka
    if topic is None:
        return file
    from log_shipper.shipper.output.kafka_dead_letter import KafkaDeadLetter
    from log_shipper.shipper.output.kafka_settings import make_producer
    from log_shipper.shipper.outputs.kafka import kafka_of

    output = kafka_of(config)
    assert output is not None, "its brokers are used, as the configuration says"
    return KafkaDeadLetter(topic.topic, make_producer(output), file, clock)


def _processor_context(agent: Agent, metrics: Metrics, environment: Environment, stack: ExitStack) -> ProcessorContext:
    caches = Caches(environment.clock, environment.data / "cache_processor")
    stack.callback(caches.close)
    wake = environment.wake.set_if_open
    return ProcessorContext(agent, environment.data, metrics, environment.clock, caches, wake)


def _open_data(config: ShipperConfig, data: Path, clock: Clock) -> tuple[Agent, float, Store]:
    """Open path.data and return its contents: the agent's id, its first start, and the registry."""
    directory = DataDirectory(data)
    with directory.translating_errors():
        directory.make()
        agent = directory.agent(config.name)
        first_start = directory.first_start(clock.time())
        files = DiskFiles(int(config.registry.file_permissions, 8))
        store = Store.open(data / config.registry.path, files, before_recreating=directory.make)
    return agent, first_start, store


def _start_registrar(
    store: Store, output: Output, config: ShipperConfig, environment: Environment, stack: ExitStack
) -> Registrar:
    """Return the registrar with the positions that the output committed. Raises Stopped, StartError."""
    committed: list[FileState] = []
    on_removed = None
    if isinstance(output, CommitsPositions):
        committed = resume(output, store.states, is_new=store.is_new, stopping=environment.stopping)
        on_removed = output.forget
    wake = environment.wake.set_if_open
    registrar = environment.threads.registrar(store, config.registry.flush, wake, on_removed)
    # Also if an error ends the run: acknowledged positions are saved, and the thread must not outlive the store.
    stack.callback(registrar.close, 1.0)
    registrar.adopt(committed)
    registrar.start()
    return registrar


def _summary_interval(config: ShipperConfig) -> float:
    metrics = config.logging.metrics
    return metrics.period if metrics.enabled else NEVER
