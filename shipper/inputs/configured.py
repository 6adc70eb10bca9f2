"""Hold what every configured input has, whether it reads files or not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from log_shipper.registry.state import FileState
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc, InputCounts, Process
from log_shipper.shipper.formats.record import Agent, members_of_input
from log_shipper.shipper.inputs.staging import MakeStage
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.feeds import AnyInput

Config = TypeVar("Config", bound=AnyInput)


@dataclass(frozen=True, eq=False)
class ConfiguredInput(Generic[Config]):
    """A configured input. `static`: the configured fields of each record; `max_bytes`: maximum length of a message that
    is kept whole; `note` passes new states of a file to the registrar; `process` is the chain of processors; `metrics`
    counts what the readers drop on purpose; `stage`: for an output that commits transactions; `counts`: the metrics of
    the input. One that `comes_and_goes` was discovered: when it is removed, nothing is kept for its return."""

    config: Config
    agent: Agent
    static: Doc
    max_bytes: int
    clock: Clock
    note: Callable[[FileState], None]
    process: Process | None = None
    metrics: Metrics = field(default_factory=Metrics)
    stage: MakeStage | None = None
    counts: InputCounts = field(default_factory=InputCounts)
    comes_and_goes: bool = False

    @property
    def id(self) -> str:
        return self.config.id

    def shared_members(self) -> Doc:
        """Return the fields of all records of the input."""
        config = self.config
        with_host = not config.publisher_pipeline.disable_host
        return members_of_input(self.agent, config.type, config.id, self.static, with_host=with_host)
