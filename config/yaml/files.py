"""The files of a configuration: regular files of a bounded size, which only root or the agent's user may write.

Opening a named pipe would wait for a writer, and a device may return bytes without end. A user who can write the
configuration chooses which files are read and where they are sent.
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
# O_NONBLOCK: the file could be replaced by a named pipe after it was checked.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_bytes(file: Path) -> bytes:
    """Return the content of the file. Raises ConfigError if it is not a regular file, too large, or unreadable."""
    try:
        _check_is_regular(file, os.stat(file))  # before it is opened: opening a device may have an effect
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


def check_permissions(file: Path) -> None:
    """Raise ConfigError if group or others may write the file, or if it belongs to neither root nor this user."""
    try:
        status = file.stat()
    except OSError as error:
        raise ConfigError([Problem(str(file), 0, "", f"cannot be read: {error.strerror}")]) from error
    messages = permission_faults(file, stat.S_IMODE(status.st_mode), status.st_uid, os.geteuid())
    if messages:
        raise ConfigError(Problem(str(file), 0, "", message) for message in messages)


def permission_faults(file: Path, mode: int, owner: int, user: int) -> list[str]:
    """Return what is wrong with a file's mode and owner when the user of that id runs the agent."""
    faults = []
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        faults.append(f"may be written by others (mode {mode:04o}); chmod go-w {file}, or --strict.perms=false")
    if owner not in (0, user):
        faults.append(f"belongs to user {owner}, not to root or user {user}; chown it, or --strict.perms=false")
    return faults
