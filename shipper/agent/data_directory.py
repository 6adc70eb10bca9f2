"""path.data: the agent's files besides the registry and dead letters."""

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

MAX_BYTES = 1024  # maximum size of each file


class DataDirectory:
    """The data directory. Every method may raise OSError or Misplaced; `translating_errors` turns them into messages
    for the user.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, str] = {}  # name -> content, as read or written by this process

    def make(self) -> None:
        """Create the directory, and any known file that was removed from it."""
        make_directory(self._path, 0o750, owned_as_parent=True)
        for name, text in self._files.items():
            if not (self._path / name).exists():
                replace_file(self._path / name, text.encode())

    def agent(self, name: str | None) -> Agent:
        """Return the agent's identity in records; the name defaults to the host name."""
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
        """Return the time of the agent's first start here, in unix seconds, for `ignore_inactive`."""
        try:
            started = float(self._read("first_start"))
        except ValueError:
            started = float(self._write("first_start", f"{now}"))
        self._files["first_start"] = f"{started}\n"
        return started

    def _read(self, name: str) -> str:
        """Return the content of a small text file, or "" if it is missing."""
        try:
            return read_file(self._path / name, MAX_BYTES).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""

    def _write(self, name: str, text: str) -> str:
        replace_file(self._path / name, f"{text}\n".encode())
        return text

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Raise StartError for system errors, with the directory, which their own message may lack."""
        try:
            yield
        except Misplaced as error:
            raise StartError(
                f"path.data {error.path} {error.problem}. Positions are stored there: create the missing "
                "directory, remove the obstacle, or set another path.data"
            ) from error
        except OSError as error:
            raise StartError(
                f"path.data {self._path}: {error.strerror} ({error.filename or 'while writing there'}). Positions "
                "are stored there: free space, make it writable, or set another path.data"
            ) from error
