"""A feed is an input that reads no files: the journal, a socket, Kafka, HTTP. Each is a `BatchSource` of its own.

What the contract of BatchSource says more for a feed: any thread may ask for its `status`. After `stop` it reads
nothing more, and it is `finished` once all that it gave is resolved. It never ends the agent: what fails is retried,
and stands among its problems.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from config.shipper.feeds.base import FeedConfig
from registry.state import FileState
from shipper.clock import Clock
from shipper.event import Constants, Doc, InputCounts, Process, Source
from shipper.metrics import Metrics
from shipper.record import Agent, members_of_file, members_of_input, merged, readable_path
from shipper.source.reading.file_reader import MakeStage


@runtime_checkable
class GivesOut(Protocol):
    """A feed that has received what no one can send again. Called by the reading thread, beside `step` and `read`."""

    def give_out(self, longest: float) -> bool:
        """Receive nothing new after at most `longest` seconds, as a reload ends the feed, and give what was received.
        Called again and again while the loop steps; True as soon as all of it was given."""


@dataclass(frozen=True, eq=False)
class FeedInput:
    """A configured feed. The fields are those of an input of files (`reading.factory.Input`)."""

    config: FeedConfig
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

    def source(self, file_id: str, path: str, members: Doc | None = None, *, repeatable: bool = True) -> Source:
        """Return the source of events that are named by `file_id` and their offset. `members` are those that all of
        them have beside the ones of the input. `repeatable`: what is given may be read again after a crash."""
        file = {"path": readable_path(path), "id": file_id}
        config = self.config
        with_host = not config.publisher_pipeline.disable_host
        shared = members_of_input(self.agent, config.type, config.id, self.static, with_host=with_host)
        constants = Constants(members_of_file(merged(members or {}, shared), file))
        return Source(
            file_id=file_id,
            path=path,
            inode=0,
            device=0,
            input_id=config.id,
            input_type=config.type,
            constants=constants,
            process=self.process,
            counts=self.counts,
            repeatable=repeatable,
        )
