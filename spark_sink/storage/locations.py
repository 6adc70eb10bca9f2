"""The place of a table, for pyarrow, which writes its data files, and for deltalake, which commits them.

A location is a value: it can be sent to the tasks that write.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow import dataset, fs

# What Hadoop calls a scheme -> what the others call it.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
# Stores without directories: to create one would be an object of its own.
_OBJECT_STORES = {"s3", "gs", "gcs", "az", "abfs", "abfss"}
MAX_OPEN = 1000
# deltalake's name of an option -> pyarrow's, for S3.
_S3_OPTIONS = {
    "aws_access_key_id": "access_key",
    "aws_secret_access_key": "secret_key",
    "aws_session_token": "session_token",
    "aws_region": "region",
    "aws_endpoint": "endpoint_override",
}


@dataclass(frozen=True, slots=True)
class Location:
    """The directory of a table: a path, or the URI of an object store as Spark has it (s3a://bucket/lines).

    `options`: deltalake's storage options (aws_region, aws_endpoint ...); what is not among them comes from the
    environment, as in every program of the store's vendor. `fsync`: whether commits on a local file system survive a
    power cut.
    """

    path: str
    options: Mapping[str, str] = field(default_factory=dict)
    fsync: bool = True

    @property
    def uri(self) -> str:
        """The path as deltalake takes it."""
        scheme, colon, rest = self.path.partition(":")
        return f"{_SCHEMES[scheme]}:{rest}" if colon and scheme in _SCHEMES else self.path

    @property
    def directory(self) -> Path | None:
        """The directory on this machine, None of another store."""
        parts = urlsplit(self.path)
        if parts.scheme == "file":
            return Path("/" + self.path.partition(":")[2].lstrip("/"))
        return Path(self.path) if "://" not in self.path else None

    @property
    def storage_options(self) -> dict[str, str]:
        return dict(self.options)

    @property
    def has_directories(self) -> bool:
        return urlsplit(self.uri).scheme not in _OBJECT_STORES

    @property
    def is_s3(self) -> bool:
        return urlsplit(self.uri).scheme == "s3"

    def files(self) -> fs.FileSystem:
        """Return the file system whose root is this directory. It may have to ask the store where the bucket is."""
        store, path = self._store()
        return fs.SubTreeFileSystem(path, store)

    def open(self) -> DeltaTable | None:
        """Return the table at its newest version, None where there is none. Reads the list of all data files."""
        try:
            return DeltaTable(self.uri, storage_options=self.storage_options)
        except TableNotFoundError:
            return None

    def parts(self, table: DeltaTable, most: int = MAX_OPEN) -> Iterator[dataset.Dataset]:
        """Yield the rows of this version of the table, which must have no partitions and no table feature, those of
        `most` data files at a time: Arrow keeps some 30 kB of each.

        Not by `to_pyarrow_dataset`: for a file without bounds of a column, that returns no row to a filter on it.
        """
        paths = [unquote(path) for path in pa.table(table.get_add_actions()).column("path").to_pylist()]
        schema, files = pa.schema(table.schema().to_arrow()), self.files()
        for first in range(0, len(paths), most):
            some = paths[first : first + most]
            yield dataset.dataset(some, schema=schema, filesystem=files, format="parquet")

    def _store(self) -> tuple[fs.FileSystem, str]:
        parts = urlsplit(self.uri)
        if parts.scheme == "":
            return fs.LocalFileSystem(), self.path
        if parts.scheme == "s3" and self.options:
            return fs.S3FileSystem(**self._s3_settings()), f"{parts.netloc}{parts.path}".rstrip("/")
        store, path = fs.FileSystem.from_uri(self.uri)
        return store, path

    def _s3_settings(self) -> dict[str, str]:
        named = {name.lower(): value for name, value in self.options.items()}
        settings = {theirs: named[ours] for ours, theirs in _S3_OPTIONS.items() if ours in named}
        if named.get("aws_allow_http", "").lower() == "true":
            settings["scheme"] = "http"
        return settings
