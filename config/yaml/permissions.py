"""Who may write the configuration: it names the files that are read and where they are sent, so nobody else may."""

import os
import stat
from pathlib import Path

from config.yaml.errors import ConfigError, Problem


def check_permissions(file: Path) -> None:
    """Raises ConfigError when group or others may write the file, or when it belongs to neither root nor this user."""
    try:
        status = file.stat()
    except OSError as error:
        raise ConfigError([Problem(str(file), 0, "", f"cannot be read: {error.strerror}")]) from error
    messages = wrong(file, stat.S_IMODE(status.st_mode), status.st_uid, os.geteuid())
    if messages:
        raise ConfigError(Problem(str(file), 0, "", message) for message in messages)


def wrong(file: Path, mode: int, owner: int, user: int) -> list[str]:
    """What is wrong with a mode and an owner, for a user of that id."""
    found = []
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        found.append(f"may be written by others (mode {mode:04o}); chmod go-w {file}, or --strict.perms=false")
    if owner not in (0, user):
        found.append(f"belongs to user {owner}, not to root or user {user}; chown it, or --strict.perms=false")
    return found
