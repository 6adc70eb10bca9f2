"""Reads the files of a configuration, and files named in it: regular files of limited size.

Opening a named pipe would wait for a writer, and a device may return endless bytes. A configuration must be writable
only by root and the agent's user, because it decides which files are read and where they are sent.
"""

import errno
import os
import stat
from pathlib import Path

from log_shipper.config.yaml.errors import ConfigError, Problem

MAX_BYTES = 4 * 1024**2
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# O_NONBLOCK: a named pipe could replace the file after the check.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_AT_ONCE = 256 * 1024  # bytes


def read_plain(file: Path | str, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of the file. Never blocks. Raises OSError, also if the file is too large or not a
    regular one."""
    check_plain(file)  # before opening: opening a device may have an effect
    descriptor = os.open(file, _FLAGS)
    try:
        _check(file, os.fstat(descriptor))
        content = bytearray()
        while len(content) <= max_bytes and (block := os.read(descriptor, _AT_ONCE)):
            content += block
    finally:
        os.close(descriptor)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes // 1024**2} MiB", str(file))
    return bytes(content)


def read_text(file: Path | str) -> str:
    """Return the content of a file that must not be empty. Raises OSError, as `read_plain`."""
    text = read_plain(file).decode("utf-8", "replace")
    if not text.strip():
        raise OSError(errno.EINVAL, "it is empty", str(file))
    return text


def check_plain(file: Path | str) -> None:
    """Raise OSError if it is not a regular file."""
    if "\0" in os.fspath(file):  # otherwise a ValueError
        raise OSError(errno.EINVAL, "its path contains a NUL character", str(file))
    _check(file, os.stat(file))


def _check(file: Path | str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "another kind of file")
        raise OSError(errno.EINVAL, f"it is {kind}; use a regular file", str(file))


def read_bytes(file: Path) -> bytes:
    """Return the content of the file. Raises ConfigError if it is unreadable, too large or not a regular file."""
    try:
        return read_plain(file)
    except OSError as error:
        advice = "; split it, or correct the path to it" if error.errno == errno.EFBIG else ""
        raise _problem(file, f"cannot be read: {error.strerror}{advice}") from error


def _problem(file: Path, message: str) -> ConfigError:
    return ConfigError([Problem(str(file), 0, "", message)])


def check_permissions(file: Path) -> None:
    """Raise ConfigError if group or others may write the file, or if it belongs to neither root nor this user, or if it
    is not a regular file: chmod would be wrong advice for /tmp."""
    try:
        status = file.stat()
        _check(file, status)
    except OSError as error:
        raise ConfigError([Problem(str(file), 0, "", f"cannot be read: {error.strerror}")]) from error
    messages = permission_faults(file, stat.S_IMODE(status.st_mode), status.st_uid, os.geteuid())
    if messages:
        raise ConfigError(Problem(str(file), 0, "", message) for message in messages)


def permission_faults(file: Path, mode: int, owner: int, user: int) -> list[str]:
    """Return what is wrong with a file's mode and owner if this user id runs the agent."""
    faults = []
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        faults.append(
            f"is writable by other users (mode {mode:04o}); run: chmod go-w {file}, or set --strict.perms=false"
        )
    if owner not in (0, user):
        faults.append(f"belongs to user {owner}, not to root or user {user}; run chown, or set --strict.perms=false")
    return faults
