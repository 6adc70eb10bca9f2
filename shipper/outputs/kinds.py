"""The kinds of outputs, and what the agent and its commands do with each. The module of a kind is imported where its
section is enabled; each imports what only some of its uses need where they need it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Output, Records
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile, DeadLetters


class Steps(Protocol):
    """Takes the steps of `test output`."""

    def __call__(self, step: str, problem: str = "") -> bool:
        """Print the step, and what is wrong. Return True if nothing is."""


@dataclass(frozen=True, slots=True)
class OutputKind:
    """`describe`: where it sends, in words. `open` makes it; it may raise StartError. `check` connects to it step by
    step, and returns True if all is well. `records`: events as it sends them. `is_stdout`: it writes to standard
    output."""

    describe: Callable[[ShipperConfig], str]
    open: Callable[[ShipperConfig, OutputContext], Output]
    check: Callable[[ShipperConfig, Steps], bool]
    records: Callable[[ShipperConfig], Records]
    is_stdout: bool = False


def kind_of(config: ShipperConfig) -> OutputKind:
    """Return the kind of the enabled output."""
    kind: OutputKind = import_module(f"{__package__}.{config.output.kind}").KIND
    return kind


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    """Return the enabled output. Raises StartError."""
    return kind_of(config).open(config, context)


def dead_letters(config: ShipperConfig, data: Path, clock: Clock) -> DeadLetters:
    """Return where the events that the output refuses are kept; `data`: path.data."""
    file = DeadLetterFile(data / FILE, clock, rotate_at=config.dead_letter.rotate_every)
    output = config.output.to_kafka
    if config.dead_letter.kafka is None or output is None:
        return file
    from log_shipper.shipper.output.kafka_dead_letter import KafkaDeadLetter
    from log_shipper.shipper.output.kafka_settings import make_producer

    return KafkaDeadLetter(config.dead_letter.kafka.topic, make_producer(output), file, clock)
