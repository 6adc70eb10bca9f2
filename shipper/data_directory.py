"""path.data: what the agent keeps there beside the registry and the dead letters."""

import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from durable.disk import make_directory
from durable.errors import Misplaced
from shipper.errors import StartError
from shipper.record import Agent
from shipper.version import VERSION


class DataDirectory:
    """Every method may raise OSError or Misplaced; `translating_errors` turns them into a message for the user."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, str] = {}  # name -> content, of what this process read or wrote

    def make(self) -> None:
        """Create the directory, and again the files in it that this process knows if they were removed."""
        make_directory(self._path, 0o750, owned_as_parent=True)
        for name, text in self._files.items():
            if not (self._path / name).exists():
                (self._path / name).write_text(text, encoding="ascii")

    def agent(self, name: str | None) -> Agent:
        """Return the agent as records name it; without a name it has that of the host."""
        name = name or socket.gethostname()
        return Agent(name, name, self.agent_id, VERSION)

    @property
    def agent_id(self) -> str:
        """Return the random id of this agent, created at its first start."""
        file = self._path / "agent_id"
        agent_id = file.read_text(encoding="ascii", errors="replace").strip() if file.exists() else ""
        if not agent_id:  # empty: after a full disk or a crash, the file may exist without content
            agent_id = uuid.uuid4().hex
            file.write_text(agent_id + "\n", encoding="ascii")
        self._files[file.name] = agent_id + "\n"
        return agent_id

    def first_start(self, now: float) -> float:
        """Return when the agent ran here for the first time, in unix seconds; `ignore_inactive` depends on it."""
        file = self._path / "first_start"
        try:
            started = float(file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            started = now
            file.write_text(f"{started}\n", encoding="ascii")
        self._files[file.name] = f"{started}\n"
        return started

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Raise StartError for errors of the system, with the directory, which their own message may lack."""
        try:
            yield
        except Misplaced as error:
            raise StartError(
                f"path.data {error.path}: it {error.problem}; positions are kept there: make what is missing, move away"
                " what does not belong there, or set another path.data"
            ) from error
        except OSError as error:
            raise StartError(
                f"path.data {self._path}: {error.strerror} ({error.filename or 'while writing there'}); "
                "positions are kept there: free some space, make it writable, or set another path.data"
            ) from error
