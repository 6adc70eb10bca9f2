"""Writes commits of a table on a local file system: lines of JSON, by Delta's protocol.

For each commit, deltalake would list the whole log (17,280 files after a day of batches every 5 s), and go through all
data files.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from log_shipper import VERSION
from log_shipper.spark_sink.storage.data_files import DataFile
from log_shipper.spark_sink.storage.tables import TxnId

_APPEND = {"operation": "WRITE", "operationParameters": {"mode": "Append"}, "engineInfo": f"spark-sink:{VERSION}"}


def append_actions(
    files: Iterable[DataFile], named: Iterable[TxnId], now: int, info: Mapping[str, object]
) -> Iterator[dict[str, object]]:
    """Yield the actions of a commit that adds these files. `now`: in milliseconds of the epoch; `info`: further members
    of `commitInfo`."""
    yield {"commitInfo": {"timestamp": now, **_APPEND, **info}}
    for txn in named:
        yield {"txn": {"appId": txn.query_id, "version": txn.batch, "lastUpdated": now}}
    for file in files:
        yield {
            "add": {
                "path": quote(file.path, safe="/="),
                "partitionValues": dict(file.partition),
                "size": file.size,
                "modificationTime": now,
                "dataChange": True,
                "stats": file.statistics,
            }
        }


def write_commit(table: Path, version: int, actions: Iterable[object]) -> None:
    """Write a commit to a temporary file, and link it to its name. Raises FileExistsError if the version exists."""
    path = table / "_delta_log" / f"{version:020}.json"
    half = path.with_name(f"{path.name}#{uuid4().hex}")
    try:
        half.write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
        os.link(half, path)  # unlike a rename, it replaces nothing
    finally:
        half.unlink(missing_ok=True)
