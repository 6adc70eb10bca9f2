"""Define feeds, the inputs that read no files: the journal, sockets, Kafka, HTTP. Each is a `BatchSource`.

In addition to the contract of BatchSource: any thread may call `status`. After `stop` a feed reads nothing more, and it
is `finished` once all its batches are resolved. It never ends the agent: failures are retried, and shown among its
problems.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from log_shipper.shipper.event import Constants, Doc, Source
from log_shipper.shipper.formats.record import members_of_file, merged, readable_path
from log_shipper.shipper.inputs.configured import ConfiguredInput
from log_shipper.shipper.options.feeds import FeedConfig

REFUSED_WAIT = 0.02  # seconds after which a feed checks again for room in the pipeline


@runtime_checkable
class Drainable(Protocol):
    """A feed with received data that no one can send again. Called by the reading thread, beside `step` and `read`."""

    def drain(self, seconds: float) -> bool:
        """Receive nothing new after at most `seconds`, because a reload removes the feed, and give what was
        received. Called again and again while the loop steps; return True as soon as everything was given."""


class LoopWake(Protocol):
    """The object that wakes the loop (shipper/wake.py)."""

    def set_if_open(self) -> None:
        """Wake the loop. Any thread may call it."""

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        """Wake the loop once when the descriptor has data, is at its end, or failed; it then calls `ready`."""

    def unwatch(self, fd: int) -> None:
        """Stop watching. Must be called before a watched descriptor is closed."""


@dataclass(frozen=True, eq=False)
class FeedInput(ConfiguredInput[FeedConfig]):
    """An input that reads no files."""

    def source(self, file_id: str, path: str, members: Doc | None = None, *, repeatable: bool = True) -> Source:
        """Return the source of events that are named by `file_id` and their offset. `members`: further fields of all
        events. `repeatable`: the data may be read again after a crash."""
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
