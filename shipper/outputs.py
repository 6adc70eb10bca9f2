"""Makes the output that the configuration selects, and the queue on disk before it. Each output, and what such a queue
is made of, are imported where there is one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from log_shipper.config.shipper.model import ConsoleOutputConfig, FileOutputConfig, KafkaOutputConfig, ShipperConfig
from log_shipper.config.shipper.queues import DiskQueueConfig
from log_shipper.registry.state import FileState
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.codecs import make_codec
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.output_context import QUEUE, OutputContext, QueueParts
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile, DeadLetters
from log_shipper.shipper.pipeline.pipeline import DiskOnDemand, DiskStage
from log_shipper.shipper.record_limit import UNLIMITED

DIRECTORY = "diskqueue"  # below path.data


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    chosen = config.output.chosen
    if isinstance(chosen, ConsoleOutputConfig):
        from log_shipper.shipper.output.console import ConsoleOutput

        return ConsoleOutput(make_codec(chosen.codec, UNLIMITED), context.publisher)
    if isinstance(chosen, FileOutputConfig):
        from log_shipper.shipper.output.file import FileOutput, output_file

        return FileOutput(output_file(chosen), make_codec(chosen.codec, UNLIMITED), context.publisher, context.clock)
    from log_shipper.shipper.kafka_outputs import kafka_output

    return kafka_output(config, chosen, context)


def dead_letters(config: ShipperConfig, data: Path, clock: Clock) -> DeadLetters:
    """Return where the events that the output refuses are kept; `data`: path.data."""
    file = DeadLetterFile(data / FILE, clock, rotate_at=config.dead_letter.rotate_every)
    output = config.output.chosen
    if config.dead_letter.kafka is None or not isinstance(output, KafkaOutputConfig):
        return file
    from log_shipper.shipper.output.kafka_dead_letter import KafkaDeadLetter
    from log_shipper.shipper.output.kafka_settings import make_producer

    return KafkaDeadLetter(config.dead_letter.kafka.topic, make_producer(output), file, clock)


def disk_stage(config: ShipperConfig, environment: Any, parts: QueueParts) -> DiskStage | None:
    """Return the queue on disk; None where there is none. With a section for it everything passes through it. Without
    one, it is made when something comes that cannot be read again; or if something is left in it, which is delivered
    also if it is not enabled any more. `environment`: that of the agent. Raises StartError, Stopped."""
    section = config.queue.disk
    directory = _directory(section, environment.data, parts.registrar.states)
    is_on = section is not None and section.enabled
    if is_on or _is_left(directory, parts.registrar.states):
        from log_shipper.shipper.disk_queues import DiskQueues

        return DiskQueues(config, environment, parts).make(directory, takes_all=is_on)
    if section is not None:
        return None

    def make() -> DiskStage | None:
        from log_shipper.shipper.disk_queues import DiskQueues

        return DiskQueues(config, environment, parts).make_later(directory)

    return DiskOnDemand(parts.memory, make, environment.clock.monotonic)


def _is_left(directory: Path, states: Mapping[str, FileState]) -> bool:
    """True if something is left in the directory, or should be, and is missing."""
    if any(directory.glob("*.seg")):
        return True
    used = [state for state in states.values() if state.kind == QUEUE]
    if not used:
        return False
    from log_shipper.shipper.disk_queues import has_undelivered

    return any(map(has_undelivered, used))


def _directory(section: DiskQueueConfig | None, data: Path, states: Mapping[str, FileState]) -> Path:
    """Return the directory of the queue. Where none is named, because the section was
    removed or turned off, it is the one that was used last: something may be left in it."""
    if section is not None and section.path is not None:
        return Path(section.path)
    if section is None or not section.enabled:
        used = [state for state in states.values() if state.kind == QUEUE]
        if used:
            return Path(max(used, key=lambda state: state.updated).path)
    return data / DIRECTORY
