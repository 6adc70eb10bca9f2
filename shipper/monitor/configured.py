"""The configuration in effect, for the page: as `shipper export config` prints it, secrets masked."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from log_shipper.config.yaml.errors import ConfigError

Stamps = list[tuple[int, int] | None]


class ConfigText:
    """Made when it is first asked for, because it takes as long as reading the configuration. So it is only shown while
    the files are those that were read. Thread-safe."""

    def __init__(self, export: Callable[[], str], files: Sequence[Path]) -> None:
        """`export` raises ConfigError, OSError."""
        self._export = export
        self._files = files
        self._lock = threading.Lock()
        self.read_again()

    def read_again(self) -> None:
        """Note that the files as they are now are in effect."""
        self._stamps = _stamps(self._files)
        self._text: str | None = None

    def text(self) -> str:
        with self._lock:
            if self._text is None:
                self._text = self._made()
            return self._text

    def _made(self) -> str:
        if _stamps(self._files) == self._stamps:
            try:
                return self._export()
            except (ConfigError, OSError) as error:
                return f"# the configuration cannot be shown: {error}\n"
        names = ", ".join(map(str, self._files))
        return f"# {names}: changed since the shipper read it; a reload (SIGHUP) puts it into effect\n"


def _stamps(files: Sequence[Path]) -> Stamps:
    """Return what shows that a file was changed."""
    stamps: Stamps = []
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size))
    return stamps
