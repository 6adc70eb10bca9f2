"""The bytes of a file that belongs to the configuration: of a regular file only, and of a bounded size.

Opening a named pipe waits until somebody writes to it, and a device may give bytes without an end.
"""

import os
import stat
from pathlib import Path

from config.yaml.errors import ConfigError, Problem

MAX_BYTES = 4 * 1024**2
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# Without waiting, should the file be replaced by a named pipe after it was looked at.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_bytes(file: Path) -> bytes:
    """Return all that the file holds. Raises ConfigError when it is not a regular file, too large, or unreadable."""
    try:
        _check_is_regular(file, os.stat(file))  # before it is opened: opening a device may do something
        descriptor = os.open(file, _FLAGS)
        with open(descriptor, "rb") as opened:
            _check_is_regular(file, os.fstat(descriptor))
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise _problem(file, f"cannot be read: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise _problem(file, f"is larger than {MAX_BYTES // 1024**2} MiB; split it, or correct the path that names it")
    return content


def _check_is_regular(file: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else")
        raise _problem(file, f"cannot be read: it is {kind}; a configuration must be a regular file")


def _problem(file: Path, message: str) -> ConfigError:
    return ConfigError([Problem(str(file), 0, "", message)])
