"""The checkpoint directory of a query. Spark writes it; the sink only reads it.

`metadata` has the query's id, which never changes. `offsets/N` is written before batch N runs: one line with the
format's version, one with settings, and one for each source with the end offsets of the batch, {"topic": {"0": 123}}.
`commits/N` is written after the batch.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from pyarrow import fs

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.power_cuts import sync_files
from log_shipper.spark_sink.storage.tables import NO_BATCH


@dataclass(frozen=True)
class Checkpoint:
    """A directory on any file system that supports tables. Methods raise SinkError if they cannot read it."""

    path: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # of its object store

    @property
    def location(self) -> Location:
        return Location(self.path, self.options)

    def query_id(self) -> str | None:
        """Return the id of the query; None before its first start."""
        with self._reading("metadata"):
            if self._files.get_file_info("metadata").type == fs.FileType.NotFound:
                return None
            return str(json.loads(self._text("metadata"))["id"])

    def last_planned(self) -> int:
        """Return the last planned batch, NO_BATCH without one."""
        return self._last("offsets")

    def last_committed(self) -> int:
        """Return the last completed batch, NO_BATCH without one."""
        return self._last("commits")

    def ends(self, batch: int) -> dict[tuple[str, int], int]:
        """Return where a planned batch ends, by topic and partition; empty for NO_BATCH."""
        if batch == NO_BATCH:
            return {}
        name = f"offsets/{batch}"
        with self._reading(name):
            offsets = json.loads(self._text(name).splitlines()[2])
            return {(topic, int(number)): int(end) for topic, parts in offsets.items() for number, end in parts.items()}

    def resume_offsets(self) -> dict[tuple[str, int], int]:
        """Return where the last completed batch ends. If another batch is planned after it, only for the partitions in
        both: the query reads all others from Kafka's first record."""
        planned = self.ends(self.last_planned())
        return {partition: end for partition, end in self.ends(self.last_committed()).items() if partition in planned}

    def set_aside(self) -> str | None:
        """Rename the directory, so that a new checkpoint can take its place. Returns the new path; None on an object
        store, where a rename is not atomic. Raises OSError if the directory cannot be renamed, like a mount point."""
        if (directory := self.location.directory) is None:
            return None
        aside = next(
            path for number in count(1) if not (path := directory.with_name(f"{directory.name}.{number}")).exists()
        )
        directory.rename(aside)
        return str(aside)

    def sync(self, batch: int) -> None:
        """Fsync the files that Spark writes before it runs this batch, on a local file system."""
        if (directory := self.location.directory) is None:
            return
        names = ("metadata", f"offsets/{batch}", f"commits/{batch - 1}")
        try:
            sync_files(directory, (name for name in names if (directory / name).exists()))
        except OSError as error:
            raise SinkError(f"cannot fsync the checkpoint {self.path}: {error}") from error

    def _last(self, directory: str) -> int:
        with self._reading(directory):
            files = self._files.get_file_info(fs.FileSelector(directory, allow_not_found=True))
        return max((int(file.base_name) for file in files if file.base_name.isdigit()), default=NO_BATCH)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SinkError(f"cannot read the checkpoint {self.path}: {error}") from error
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise SinkError(
                f"cannot read the checkpoint {self.path}: its file {name} is damaged ({error}). Restore the whole "
                "checkpoint from a backup; or move it away: a new one resumes where the marks end. With a view's "
                "checkpoint, move the view's table away, too: the view is re-created"
            ) from error

    def _text(self, name: str) -> str:
        with self._files.open_input_stream(name) as stream:
            return bytes(stream.read()).decode()

    @cached_property
    def _files(self) -> fs.FileSystem:
        return self.location.files()
