"""Load a registry without the lock, or for the store."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from log_shipper.registry import ndjson, table
from log_shipper.registry.errors import RegistryCorrupt, disk_error
from log_shipper.registry.files import BUSY_TIMEOUT, DiskFiles
from log_shipper.registry.state import FileState

DATABASE, LOG = "registry.db", "registry.db-wal"
_ATTEMPTS, _PAUSE = 5, 0.02  # seconds between two attempts
NEW = "registry.new"  # a complete database, which replaces the other one


def load(connection: sqlite3.Connection, file: Path) -> tuple[dict[str, FileState], int]:
    """Return all entries of a database, and the number of changes so far. Raises RegistryCorrupt,
    RegistryForeignVersion, OSError."""
    try:
        return table.load(connection, file)
    except UnicodeDecodeError as error:  # raised by the module, about SQLite's message
        raise RegistryCorrupt(file, "its schema is not text") from error
    except sqlite3.Error as error:
        raise disk_error(error, file) or RegistryCorrupt(file, str(error)) from error


def read(directory: Path) -> dict[str, FileState]:
    """Return the entries, without the lock, even while an agent writes; {} without a registry.

    Raises RegistryCorrupt, RegistryForeignVersion, RegistryMisplaced, OSError (no permission to read).
    """
    for _ in range(_ATTEMPTS - 1):
        # A writer that starts or stops renames files, which looks like damage for a moment.
        with suppress(RegistryCorrupt, OSError, sqlite3.Error):
            return read_once(directory)
        time.sleep(_PAUSE)
    return read_once(directory)


def read_once(directory: Path) -> dict[str, FileState]:
    """Return the entries, as `read`, where no one writes: damage is reported at once."""
    files, file = DiskFiles(), directory / DATABASE
    log = files.identity(directory / LOG)
    if files.identity(directory / NEW):
        file, log = directory / NEW, None
    elif files.identity(file) is None:
        if log:
            raise RegistryCorrupt(file, f"the file is missing, but {LOG} exists")
        return ndjson.read(directory, files) or {}
    # Without a log no one writes: then nothing is locked, and nothing created beside the database.
    mode = "mode=ro" if log else "mode=ro&immutable=1"
    address = f"file:{quote(os.fsencode(file.absolute()))}?{mode}"
    try:
        connection = sqlite3.connect(address, timeout=BUSY_TIMEOUT, isolation_level=None, uri=True)
    except sqlite3.Error as error:
        raise disk_error(error, file) or RegistryCorrupt(file, str(error)) from error
    with closing(connection):
        return load(connection, file)[0]
