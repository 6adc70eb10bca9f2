"""A check of conditional puts (`If-None-Match: *`): of two writers of one object, a store must refuse the second.

Every commit relies on them. A store that ignores the condition would silently lose the rows of one of two processes
that commit the same version; so each run checks its stores at the start.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Barrier
from uuid import uuid4

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType
from pyarrow import fs

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.commits import NO_HOOKS
from log_shipper.spark_sink.storage.locations import Location, location_of

ROUNDS = 3  # on a store that ignores conditions, one round of 30 did not show it
_SCHEMA = Schema([Field("probe", PrimitiveType("integer"))])


def check_conditional_puts(config: SinkConfig) -> None:
    """Write two commits of one version to a temporary table in each bucket, and delete it. Raises Refused if the second
    commit replaces the first, SinkError if a store is not writable."""
    for place in buckets(config):
        probe = Location(f"{place.path.rstrip('/')}/_probe_{uuid4().hex}", place.options)
        try:
            is_replaced = _replaces(probe)
            _delete(probe.files())
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise SinkError(
                f"cannot write to {place.path}: {error}. Check table.options and the permissions"
            ) from error
        if is_replaced:
            raise Refused(
                f"the object store of {place.path} ignores conditional puts (If-None-Match): concurrent commits would "
                "silently lose rows. Use a store, or a version of it, that supports them (docs/guides/object-stores.md)"
            )


def buckets(config: SinkConfig) -> Iterator[Location]:
    """Yield one directory in each bucket that has tables."""
    lines = config.table.template.directory if config.has_template else config.table.path
    buckets: dict[str, Location] = {}
    for path in (lines, config.dead_letter_path, config.state_path):
        if (place := location_of(config, path)).directory is None:
            buckets.setdefault("/".join(path.split("/")[:3]), place)
    yield from buckets.values()


def _replaces(probe: Location) -> bool:
    """Return True if two commits of one version both succeed. Both writers check for a newer version before they write,
    so they must commit at the same time."""
    DeltaTable.create(probe.path, _SCHEMA, storage_options=probe.storage_options)
    tables = [DeltaTable(probe.path, storage_options=probe.storage_options) for _ in range(2)]
    with ThreadPoolExecutor(len(tables)) as threads:
        for _ in range(ROUNDS):
            errors = list(threads.map(partial(_commit, Barrier(len(tables))), tables))
            if not any(errors):
                return True
            if None not in errors:
                raise DeltaError(str(errors[0]))
            for table in tables:
                table.update_incremental()
    return False


def _commit(together: Barrier, table: DeltaTable) -> DeltaError | None:
    """Commit the version after the read one, and return the error if that fails."""
    together.wait()
    try:
        table.create_write_transaction(
            [],
            "append",
            _SCHEMA,
            commit_properties=CommitProperties(max_commit_retries=0),
            post_commithook_properties=NO_HOOKS,
        )
    except DeltaError as error:
        return error
    return None


def _delete(files: fs.FileSystem) -> None:
    """Delete everything, best effort: not every account may delete."""
    with suppress(OSError):
        for info in files.get_file_info(fs.FileSelector("", recursive=True)):
            if info.is_file:
                files.delete_file(info.path)
