"""The configuration in effect for the page, in the format of `shipper export config`, with secrets masked."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from log_shipper.config.yaml.errors import ConfigError

Stamps = list[tuple[int, int] | None]


class ConfigText:
    """The configuration as text, created on demand, because that takes as long as reading it. It is shown only while
    the files are unchanged. Thread-safe.
    """

    def __init__(self, export: Callable[[], str], files: Sequence[Path]) -> None:
        """Export on demand; `export` raises ConfigError, OSError."""
        self._export = export
        self._files = files
        self._lock = threading.Lock()
        self.read_again()

    def read_again(self) -> None:
        """Note that the current files are in effect."""
        with self._lock:
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
                return f"# cannot show the configuration: {error}\n"
        names = ", ".join(map(str, self._files))
        return f"# {names}: changed after the shipper read it; apply it with a reload (SIGHUP)\n"


def _stamps(files: Sequence[Path]) -> Stamps:
    """Return a value that changes with the file."""
    stamps: Stamps = []
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size))
    return stamps
