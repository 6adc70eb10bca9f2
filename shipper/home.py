"""The data path: what the agent keeps there beside the registry and the dead letter."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from registry.files import DiskFiles
from shipper.errors import StartError


class Home:
    """Everything may raise OSError; `said` turns that into words."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, str] = {}  # by name of the file

    def make(self) -> None:
        """And what was kept in it by this process, if it was removed."""
        DiskFiles().make(self._path)
        for name, text in self._kept.items():
            if not (self._path / name).exists():
                (self._path / name).write_text(text, encoding="ascii")

    @property
    def agent_id(self) -> str:
        """Made at the first start."""
        kept = self._path / "agent_id"
        agent_id = kept.read_text(encoding="ascii", errors="replace").strip() if kept.exists() else ""
        if not agent_id:  # empty: a disk that was full, or a crash, kept the name and not the content
            agent_id = uuid.uuid4().hex
            kept.write_text(agent_id + "\n", encoding="ascii")
        self._kept[kept.name] = agent_id + "\n"
        return agent_id

    def first_start(self, now: float) -> float:
        """When the agent ran here for the first time, in unix seconds; `ignore_inactive` goes by it."""
        kept = self._path / "first_start"
        try:
            started = float(kept.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            started = now
            kept.write_text(f"{started}\n", encoding="ascii")
        self._kept[kept.name] = f"{started}\n"
        return started

    @contextmanager
    def said(self) -> Iterator[None]:
        """Which directory a refusal is about: the system's own words may name none."""
        try:
            yield
        except OSError as error:
            raise StartError(
                f"path.data {self._path}: {error.strerror} ({error.filename or 'while writing there'}); "
                "positions are kept there: free some space, make it writable, or set another path.data"
            ) from error
