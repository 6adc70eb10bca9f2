"""A feed is an input that reads no files: the journal, a socket, Kafka, HTTP. Each is a `BatchSource` of its own.

What the contract of BatchSource says more for a feed: any thread may ask for its `status`. After `stop` it reads
nothing more, and it is `finished` once all that it gave is resolved. It never ends the agent: what fails is retried,
and stands among its problems.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from log_shipper.shipper.event import Constants, Doc, Source
from log_shipper.shipper.formats.record import members_of_file, merged, readable_path
from log_shipper.shipper.inputs.configured import ConfiguredInput
from log_shipper.shipper.options.feeds import FeedConfig

REFUSED_WAIT = 0.02  # seconds until a feed asks again whether the pipeline takes more of it


@runtime_checkable
class GivesOut(Protocol):
    """A feed that has received what no one can send again. Called by the reading thread, beside `step` and `read`."""

    def give_out(self, longest: float) -> bool:
        """Receive nothing new after at most `longest` seconds, as a reload ends the feed, and give what was received.
        Called again and again while the loop steps; True as soon as all of it was given."""


class LoopWake(Protocol):
    """What the loop sleeps on (shipper/wake.py)."""

    def set_if_open(self) -> None:
        """Wake it. Any thread may call."""

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        """Wake it once when the descriptor has data, is at its end, or failed; it then calls `ready`."""

    def unwatch(self, fd: int) -> None:
        """Must be called before a watched descriptor is closed."""


@dataclass(frozen=True, eq=False)
class FeedInput(ConfiguredInput[FeedConfig]):
    """One that reads no files."""

    def source(self, file_id: str, path: str, members: Doc | None = None, *, repeatable: bool = True) -> Source:
        """Return the source of events that are named by `file_id` and their offset. `members` are those that all of
        them have beside the ones of the input. `repeatable`: what is given may be read again after a crash."""
        file = {"path": readable_path(path), "id": file_id}
        constants = Constants(members_of_file(merged(members or {}, self.shared_members()), file))
        return Source(
            file_id=file_id,
            path=path,
            inode=0,
            device=0,
            input_id=self.id,
            input_type=self.config.type,
            constants=constants,
            process=self.process,
            counts=self.counts,
            repeatable=repeatable,
        )
