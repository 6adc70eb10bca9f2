"""What the agent and its commands ask of an output.

Each is one module of this package: its options with an example, what it does, and its errors. A new one is such a
module, a field of `OutputConfig` (options/outputs.py), and its tests. The options are read by commands, too, that send
nothing: what only some uses need is imported there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch
from log_shipper.shipper.formats.record import Agent
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.codec import CodecConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.outputs import OutputOptions
from log_shipper.shipper.output.base import Output, PreparesPositions, Records, Sample, TransactionDeliveries
from log_shipper.shipper.output.encode import Codec, sendable


class Steps(Protocol):
    """Takes the steps of `test output`."""

    def __call__(self, step: str, problem: str = "") -> bool:
        """Print the step, and what is wrong. Return True if nothing is."""


@dataclass(frozen=True, slots=True)
class OutputContext:
    """What an output needs of the agent. `positions` are those of an output that commits transactions."""

    deliveries: TransactionDeliveries
    metrics: Metrics
    clock: Clock
    agent: Agent
    positions: PreparesPositions


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputKind(OutputOptions, ABC):
    """The options of an output. `example`: the section as a user writes it."""

    example: ClassVar[str]

    @abstractmethod
    def describe(self) -> str:
        """Return where it sends, in words."""

    @abstractmethod
    def open(self, config: ShipperConfig, context: OutputContext) -> Output:
        """Return what sends. Raises StartError."""

    @abstractmethod
    def try_out(self, step: Steps) -> bool:
        """Connect to the destination step by step. True if all is well."""

    @abstractmethod
    def records(self) -> Records:
        """Return what makes events as they are sent, for a tap."""

    def fit(self, metrics: Metrics) -> Callable[[Batch], None]:
        """Return what replaces events that are too large, before they are queued."""
        return _as_it_is


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOutput(OutputKind):
    """An output of records without topics and keys, one a line."""

    codec: CodecConfig = field(default_factory=CodecConfig, metadata={"doc": "How records are written."})

    def make_codec(self) -> Codec:
        from log_shipper.shipper.outputs.codecs import make_codec

        return make_codec(self.codec)

    def records(self) -> Records:
        codec = self.make_codec()

        def records(batch: Batch) -> Sequence[Sample]:
            values = codec.encode(sendable(batch, codec.refused(batch)))
            return [Sample(batch.source.path, "", "", (), value) for value in values]

        return records


def _as_it_is(batch: Batch) -> None:
    """No event is too large."""


def kind_of(config: ShipperConfig) -> OutputKind:
    """Return the enabled output."""
    assert isinstance(config.output.chosen, OutputKind)
    return config.output.chosen


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    """Return what sends to the enabled output. Raises StartError."""
    return kind_of(config).open(config, context)
