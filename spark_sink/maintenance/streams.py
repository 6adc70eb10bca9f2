"""The last committed and planned batches of each stream: the newest files under `commits` and `offsets` in its
checkpoint."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyarrow import fs

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.locations import Location, location_of


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """The last commit of one stream. `batch` and `committed` are None before the first one. `pending`: when the
    uncommitted batch was planned, None without one."""

    name: str
    path: str
    batch: int | None
    committed: datetime | None
    pending: datetime | None = None


def streams(config: SinkConfig) -> list[StreamStatus]:
    """Return the stream of the lines first, then those of the views. Spark keeps the last hundred commits, so the
    listed directories are short. Raises SinkError."""
    views = [(f"view {view.name}", f"{config.view_checkpoints}/{view.name}") for view in config.views]
    return [_stream(name, location_of(config, path)) for name, path in [("stream", config.checkpoint.path), *views]]


def oldest_pending(of: Iterable[StreamStatus]) -> datetime | None:
    """Return when the oldest uncommitted batch was planned, None without one."""
    return min((stream.pending for stream in of if stream.pending is not None), default=None)


def _stream(name: str, location: Location) -> StreamStatus:
    try:
        files = location.files()
        # The commits last: a batch that commits in between is not pending.
        planned, since = max(_batches(files, "offsets"), default=(-1, None))
        batch, committed = max(_batches(files, "commits"), default=(None, None))
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise SinkError(f"cannot list the checkpoint {location.path}: {error}") from error
    pending = since if planned > (-1 if batch is None else batch) else None
    return StreamStatus(name, location.path, batch, committed, pending)


def _batches(files: fs.FileSystem, name: str) -> Iterator[tuple[int, datetime]]:
    for info in files.get_file_info(fs.FileSelector(name, allow_not_found=True)):
        if info.base_name.isdigit():
            yield int(info.base_name), info.mtime
