"""The interface of outputs for the agent and its commands.

Each output is one module of this package: options with an example, behaviour, errors. A new one is such a module, a
field of `OutputConfig` (options/outputs.py), and its tests. Commands that send nothing read the options too: imports
needed only for sending are local.
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


class CheckSteps(Protocol):
    """Receives the steps of `test output`."""

    def __call__(self, step: str, problem: str = "") -> bool:
        """Print the step and its problem. Return True if there is none."""


@dataclass(frozen=True, slots=True)
class OutputContext:
    """What an output needs from the agent. `positions`: for an output that commits transactions."""

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
        """Return a description of the destination."""

    @abstractmethod
    def open(self, config: ShipperConfig, context: OutputContext) -> Output:
        """Return the running output. Raises StartError."""

    @abstractmethod
    def try_out(self, step: CheckSteps) -> bool:
        """Connect to the destination step by step. Return True if all steps succeed."""

    @abstractmethod
    def records(self) -> Records:
        """Return a function that shows events as they are sent, for a tap."""

    def fit(self, metrics: Metrics) -> Callable[[Batch], None]:
        """Return a function that replaces oversized events before they are queued."""
        return _as_it_is


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOutput(OutputKind):
    """An output of records without topics and keys, one per line."""

    codec: CodecConfig = field(default_factory=CodecConfig, metadata={"doc": "The encoding of records."})

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
    """Leave the batch unchanged: no event is too large."""


def kind_of(config: ShipperConfig) -> OutputKind:
    """Return the enabled output."""
    assert isinstance(config.output.chosen, OutputKind)
    return config.output.chosen


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    """Return the running enabled output. Raises StartError."""
    return kind_of(config).open(config, context)
