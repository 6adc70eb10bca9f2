"""The directory of the queue: its id, its lock, and its errors as messages."""

import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from log_shipper.runtime.disk import make_directory, open_plain, read_file, replace_file
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.runtime.locking import FileInUse, lock_exclusively
from log_shipper.shipper.errors import StartError

logger = logging.getLogger(__name__)

ID = "id"
LOCK = "lock"
MAX_ID_BYTES = 1024


def open_directory(directory: Path, stack: ExitStack) -> str:
    """Create the directory if it is missing, lock it until the stack is closed, and return the id of the queue. Raises
    OSError, Misplaced."""
    make_directory(directory, 0o750, owned_as_parent=True)
    _lock(directory, stack)
    return _id_of(directory)


@contextmanager
def translated(directory: Path) -> Iterator[None]:
    try:
        yield
    except FileInUse as error:
        raise StartError(
            f"queue.disk.path {directory}: {error.strerror}; stop that agent, or give each agent its own directory"
        ) from error
    except Misplaced as error:
        raise StartError(
            f"queue.disk.path {error.path}: it {error.problem}; move it away, or set another path"
        ) from error
    except OSError as error:
        raise StartError(
            f"queue.disk.path {directory}: {error.strerror} ({error.filename or 'while reading there'}); make "
            "it readable and writable, or set another path: events waiting there are then not sent"
        ) from error


def _lock(directory: Path, stack: ExitStack) -> None:
    """Lock the directory against other agents until the stack is closed. Raises OSError, Misplaced."""
    descriptor = open_plain(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    stack.callback(os.close, descriptor)
    if refusal := lock_exclusively(descriptor, directory / LOCK):
        logger.warning(
            "queue.disk.path %s: the file system does not support locks (%s). Make sure that no other "
            "agent uses the directory",
            directory,
            refusal.strerror,
        )


def _id_of(directory: Path) -> str:
    """Return the id of the queue, created with it."""
    path = directory / ID
    text = read_file(path, MAX_ID_BYTES).decode("ascii", "replace").strip() if path.exists() else ""
    if len(text) == 32 and not text.strip("0123456789abcdef"):
        return text
    queue_id = uuid.uuid4().hex
    replace_file(path, f"{queue_id}\n".encode())
    return queue_id
