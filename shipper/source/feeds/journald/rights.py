"""Finds the files of a journal that the shipper's user may not read: journalctl leaves them out without a word, as long
as it may read one."""

import glob
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from config.shipper.feeds.journald import SYSTEM_JOURNAL, JournaldConfig
from logs.folding import EACH
from shipper.clock import Clock

logger = logging.getLogger(__name__)

INTERVAL = 60.0  # seconds
_MACHINE = re.compile(r"[0-9a-f]{32}")  # a directory with the journals of a machine
_SYSTEM = ("/var/log/journal", "/run/log/journal")


def may_read(path: str) -> bool:
    """Return True also if it is not there any more."""
    # By the rights that a child has too: without the option, capabilities would not count.
    return os.access(path, os.R_OK, effective_ids=True) or not os.path.lexists(path)


class Rights:
    """Used by the reading thread only. `problem`: that files cannot be read, empty if all can."""

    def __init__(
        self, config: JournaldConfig, path: str, where: str, clock: Clock, may_read: Callable[[str], bool] = may_read
    ) -> None:
        self.problem = ""
        self._config = config
        self._path = path
        self._where = where
        self._clock = clock
        self._may_read = may_read
        self._next = 0.0

    def step(self) -> None:
        if not self._config.has_default_program or self._clock.monotonic() < self._next:
            return
        self._next = self._clock.monotonic() + INTERVAL
        files = list(self._files())
        before, self.problem = self.problem, _problem(files, [path for path in files if not self._may_read(path)])
        if self.problem and self.problem != before:
            logger.error("%s: %s", self._where, self.problem, extra=EACH)
        elif before and not self.problem:
            logger.info("%s: all files of the journal may be read now", self._where, extra=EACH)

    def _files(self) -> Iterator[str]:
        root = self._config.chroot
        if self._path == SYSTEM_JOURNAL:
            machine = _machine_id(root)
            for directory in _SYSTEM if machine else ():
                yield from _files_in(f"{root}{directory}/{machine}")
        elif os.path.isdir(root + self._path):
            yield from _files_in(root + self._path)
        else:
            yield from glob.iglob(root + self._path)


def _files_in(directory: str) -> Iterator[str]:
    """Yield the journal files, or the directory if it cannot be listed."""
    try:
        entries = list(os.scandir(directory))
    except PermissionError:
        yield directory
        return
    except OSError:  # it is not there
        return
    for entry in entries:
        if _MACHINE.fullmatch(entry.name):
            yield from _files_in(entry.path)
        elif entry.name.endswith((".journal", ".journal~")):
            yield entry.path


def _machine_id(root: str) -> str:
    try:
        return Path(f"{root}/etc/machine-id").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _problem(files: list[str], unreadable: list[str]) -> str:
    if not unreadable:
        return ""
    return (
        f"{len(unreadable)} of {len(files)} files of the journal may not be read by the shipper's user (as "
        f"{min(unreadable)}), so their entries are left out; give the user the group systemd-journal (usermod -aG "
        "systemd-journal USER), or the right to read these files, and restart the agent"
    )
