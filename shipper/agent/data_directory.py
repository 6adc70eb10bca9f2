"""path.data: what the agent keeps there beside the registry and the dead letters."""

import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from log_shipper import VERSION
from log_shipper.runtime.disk import make_directory, read_file, replace_file
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.formats.record import Agent

MAX_BYTES = 1024  # of each of these files


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
                replace_file(self._path / name, text.encode())

    def agent(self, name: str | None) -> Agent:
        """Return the agent as records name it; without a name it has that of the host."""
        name = name or socket.gethostname()
        return Agent(name, name, self.agent_id, VERSION)

    @property
    def agent_id(self) -> str:
        """Return the random id of this agent, created at its first start."""
        # Empty after a full disk or a crash: the file may exist without content.
        agent_id = self._read("agent_id") or self._write("agent_id", uuid.uuid4().hex)
        self._files["agent_id"] = agent_id + "\n"
        return agent_id

    def first_start(self, now: float) -> float:
        """Return when the agent ran here for the first time, in unix seconds; `ignore_inactive` depends on it."""
        try:
            started = float(self._read("first_start"))
        except ValueError:
            started = float(self._write("first_start", f"{now}"))
        self._files["first_start"] = f"{started}\n"
        return started

    def _read(self, name: str) -> str:
        """Return the text of a small file, "" if it is missing."""
        try:
            return read_file(self._path / name, MAX_BYTES).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""

    def _write(self, name: str, text: str) -> str:
        replace_file(self._path / name, f"{text}\n".encode())
        return text

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
