"""The real process with a file as its destination, and how logs are rotated: for tests that need no broker."""

import gzip
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tests.e2e.running import PATIENCE, Agent, await_true, difference

PAD = "x" * 100


class LocalAgent(Agent):
    """Ships to a file, so that a test needs no broker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.destination = directory / "out" / "events.ndjson"
        self.destination.parent.mkdir()
        # Larger than all else that the agent writes: see `fill_disk`.
        self.destination.write_bytes(b" " * 2**18 + b"\n")
        self._inode, self._offset = self.destination.stat().st_ino, 0
        self._places: dict[tuple[str, int], dict[str, Any]] = {}
        self._all: list[str] = []
        self.output_options: dict[str, Any] = {}
        super().__init__(directory, "", "")

    def _output(self) -> dict[str, Any]:
        where = {"path": str(self.destination.parent), "filename": self.destination.name}
        return {"output.file": where | self.output_options}

    @property
    def events(self) -> list[dict[str, Any]]:
        """What has arrived, in order. A repeat must be equal to the first; it is left out here and not in `all`."""
        self._read()
        return list(self._places.values())

    @property
    def all(self) -> list[str]:
        """The messages as they came, repeats included."""
        self._read()
        return self._all

    def _read(self) -> None:
        if not self.destination.exists():  # it was renamed, and the agent has not created it again yet
            return
        with self.destination.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._offset:  # it was rotated
                self._inode, self._offset = status.st_ino, 0
            file.seek(self._offset)
            lines = file.read().split(b"\n")[:-1]
        for event in map(orjson.loads, filter(bytes.strip, lines)):
            log = event["log"]
            before = self._places.setdefault((log["file"]["id"], log["offset"]), event)
            assert (before["message"], before["log"]["length"]) == (event["message"], log["length"]), "not the same"
            self._all.append(event["message"])
        self._offset += sum(map(len, lines)) + len(lines)

    @property
    def messages(self) -> list[str]:
        return [event["message"] for event in self.events]

    def ids(self, *messages: str) -> list[str]:
        """Return the file ids of these messages, in their order."""
        by_message = {event["message"]: event["log"]["file"]["id"] for event in self.events}
        return [by_message[message] for message in messages]

    def await_messages(self, *expected: str, timeout: float = PATIENCE) -> None:
        """Wait until all of them have arrived."""
        deadline = time.monotonic() + timeout
        while missing := set(expected) - set(self.messages):
            waiting = time.monotonic() < deadline and self.process.poll() is None
            assert waiting, f"missing: {sorted(missing)[:5]}; logged:\n{self.log[-3000:]}"
            time.sleep(0.01)

    def expect(self, *expected: str, timeout: float = PATIENCE) -> None:
        """Wait for these; then they and no others have arrived, each once."""
        self.await_messages(*expected, timeout=timeout)
        self.stop_when_idle()
        arrived = sorted(message for message in self.all if not message.startswith("sentinel"))
        assert arrived == sorted(expected), f"not the same, first difference {difference(arrived, sorted(expected))}"

    def stop_when_idle(self) -> None:
        """Stop it after one more scan, so that it has found all there is."""
        number = sum(1 for _ in self.logs.glob("sentinel*"))
        self.append(f"sentinel {number}", "sentinel's end", path=self.logs / f"sentinel{number}.log")
        self.await_messages(f"sentinel {number}")
        assert self.stop() == 0

    def freeze(self) -> None:
        """Stop the process. Returns when all its threads stand still: the signal may reach it late, and a thread ends
        its call of the system first."""
        self.process.send_signal(signal.SIGSTOP)
        await_true(lambda: set(self._states_of_threads()) == {"T"}, "stopped")

    def _states_of_threads(self) -> Iterator[str]:
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                yield (thread / "stat").read_text().rpartition(")")[2].split()[0]

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def descriptors(self) -> list[tuple[str, str, int]]:
        """Return number, target and inode of each open descriptor of the process."""
        descriptors = []
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                descriptors.append((link.name, os.readlink(link), link.stat().st_ino))
        return descriptors

    def has_deleted_files_open(self) -> bool:
        """Return True if it keeps the disk space of deleted files, according to the system."""
        targets = [target for _, target, _ in self.descriptors()]
        return any(target.endswith(" (deleted)") and str(self.directory) in target for target in targets)

    def fill_disk(self, *, full: bool = True) -> None:
        """No file of the agent can grow past what the destination has now: nothing is delivered."""
        size = self.destination.stat().st_size if full else resource.RLIM_INFINITY
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def numbered(what: str, count: int) -> list[str]:
    return [f"{what} {number:06d} {PAD}" for number in range(count)]


def older(path: Path, generation: int = 1) -> Path:
    return path.with_name(f"{path.name}.{generation}")


def rotate(path: Path, generations: int = 5) -> None:
    """As logrotate: every generation becomes one older, the oldest is deleted, and the file is renamed."""
    older(path, generations).unlink(missing_ok=True)
    for generation in range(generations - 1, 0, -1):
        if older(path, generation).exists():
            older(path, generation).rename(older(path, generation + 1))
    path.rename(older(path))


def copytruncate(path: Path) -> None:
    shutil.copyfile(path, older(path))
    os.truncate(path, 0)


def compress(path: Path) -> Path:
    """As gzip(1): the compressed file has its name before the plain one is deleted."""
    packed = path.with_name(f"{path.name}.gz")
    with gzip.open(packed, "wb") as file:
        file.write(path.read_bytes())
    path.unlink()
    return packed
