"""The location of a table, for pyarrow, which writes its data files, and for deltalake, which commits them.

Both use deltalake's client of the store, so there is one set of options and credentials. A location can be pickled for
tasks.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from log_shipper.spark_sink.options.model import SinkConfig


@dataclass(frozen=True, slots=True)
class Location:
    """The directory of a table: a path, or a URI (s3://bucket/lines, or Spark's s3a://).

    `options`: deltalake's storage options (aws_region, aws_endpoint ...); missing ones come from the environment, as in
    the vendor's tools. `fsync`: whether commits on a local file system survive a power cut.
    """

    path: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    fsync: bool = True

    @property
    def directory(self) -> Path | None:
        """The local directory, None for an object store."""
        parts = urlsplit(self.path)
        if parts.scheme == "file":
            return Path("/" + self.path.partition(":")[2].lstrip("/"))
        return Path(self.path) if "://" not in self.path else None

    @property
    def in_spark(self) -> str:
        """The URI for Spark, which would look for a plain path on its default file system."""
        if (directory := self.directory) is not None:
            return f"file://{directory.absolute()}"
        return re.sub("^s3:", "s3a:", self.path)

    @property
    def storage_options(self) -> dict[str, str]:
        return dict(self.options)

    @property
    def is_s3(self) -> bool:
        return urlsplit(self.path).scheme in ("s3", "s3a")

    def files(self, table: DeltaTable | None = None) -> fs.FileSystem:
        """Return the file system rooted at this directory. `table`: knows the sizes of the data files, which an object
        store would return one by one. On an object store, streams take parquet files, but not `write(b"...")`."""
        if (directory := self.directory) is not None:
            return fs.SubTreeFileSystem(str(directory), fs.LocalFileSystem())
        if table is None:
            return _kept_store(self.path, tuple(self.options.items()))
        return fs.PyFileSystem(DeltaStorageHandler(self.path, self.storage_options, dict(_data_files(table))))

    def open(self) -> DeltaTable | None:
        """Return the table at its newest version, None if it is missing. Reads the list of all data files."""
        try:
            return DeltaTable(self.path, storage_options=self.storage_options)
        except TableNotFoundError:
            return None


def location_of(config: SinkConfig, path: str) -> Location:
    """Return the location of a table of this sink."""
    return Location(path, config.storage_options, config.fsync)


@lru_cache(128)  # tables
def _kept_store(path: str, options: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    """Return the cached file system of a store: a new one would connect again, and fetch credentials."""
    return fs.PyFileSystem(DeltaStorageHandler(path, dict(options)))


def _data_files(table: DeltaTable) -> Iterator[tuple[str, int]]:
    """Yield the paths of the data files, relative to the table, and their sizes."""
    actions = pa.table(table.get_add_actions())
    for path, size in zip(*(actions.column(name).to_pylist() for name in ("path", "size_bytes")), strict=True):
        yield unquote(path), size
