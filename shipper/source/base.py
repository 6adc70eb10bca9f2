"""Where messages come from, as the reading loop sees it: the crawler of files, or standard input."""

from collections.abc import Mapping
from typing import Protocol

from shipper.errors import Truncated
from shipper.event import Batch
from shipper.reader.gzip_file import CompressionError
from shipper.source.discovery.problems import Problems
from shipper.source.discovery.scanner import FileKey
from shipper.source.reading.harvester import Harvester


class FileSource(Protocol):
    """Called by the reading thread only; raises nothing about files, and never blocks beyond a local file system.

    What happened to a harvester that the loop read is told by `truncated`, `failed`, `damaged` and `at_end`.
    """

    problems: Problems

    @property
    def running(self) -> Mapping[FileKey, Harvester]:
        """The open files."""

    @property
    def scanned(self) -> bool:
        """All that there is to find was found, and opened: with `once`."""

    @property
    def waiting(self) -> tuple[int, int]:
        """Files that were found and wait for their turn, and their bytes on disk."""

    @property
    def next_step(self) -> float:
        """Monotonic time at which `step` has something to do by itself."""

    @property
    def bytes_behind(self) -> int:
        """Bytes of the open files that are not acknowledged, by the sizes seen last."""

    def step(self) -> None:
        """Find, open and close files."""

    def truncated(self, harvester: Harvester, error: Truncated) -> Batch | None:
        """Its life has ended. Returns the message that was under way, if nothing else will give it."""

    def failed(self, harvester: Harvester, error: OSError) -> None:
        """A read was refused."""

    def damaged(self, harvester: Harvester, error: CompressionError) -> None:
        """Its compressed data cannot be read on."""

    def waits_for(self, harvester: Harvester) -> Harvester | None:
        """The file that must be read first."""

    def at_end(self, harvester: Harvester) -> None:
        """All that it holds now was read."""

    def parted(self, harvester: Harvester) -> None:
        """A message that went on in the next file has ended."""

    def stop(self) -> None:
        """Close all files."""
