"""The log of a container while the kubelet rotates it: renamed, written by the runtime for a moment, compressed."""

import gzip
from pathlib import Path

from tests.e2e.files.local import LocalAgent

GENERATIONS = 3
MESSAGES = 4000  # of a generation
PARTS = 3  # of every tenth message, which a runtime splits at 16 KiB
CONTAINER = "shop_web-1_5f7c/web"


class Runtime:
    """What the kubelet and a runtime do to the log of one container."""

    def __init__(self, directory: Path) -> None:
        self.messages: list[str] = []
        self.log = directory / "pods" / CONTAINER / "0.log"
        self.log.parent.mkdir(parents=True)
        self.link = directory / "containers/web-1_shop_web-0123.log"
        self.link.parent.mkdir()
        self.link.symlink_to(self.log)
        self._reopen()
        self._rotated: list[Path] = []

    def _reopen(self) -> None:
        self._file = self.log.open("ab", buffering=0)

    def close(self) -> None:
        self._file.close()

    def write(self, text: str, *, parts: int = 1) -> None:
        pieces = [f"{text}.{part};" for part in range(parts)] if parts > 1 else [text]
        for piece in pieces[:-1]:
            self.write_part("P", piece)
        self.write_part("F", pieces[-1])
        self.messages.append("".join(pieces))

    def write_part(self, tag: str, text: str) -> None:
        self._file.write(f"2026-11-25T02:00:00.123456789Z stdout {tag} {text}\n".encode())

    def rotate(self, generation: int) -> None:
        """Rename the file; the runtime opens the new one some messages later, in the middle of one. Only the newest
        rotated file is not compressed."""
        rotated = self.log.with_name(f"0.log.20261125-02000{generation}")
        self.log.rename(rotated)
        self.write(f"{generation}: after the rename")
        self.write_part("P", f"{generation}: begun before, ")
        self.close()
        self._reopen()
        self.write_part("F", "ended after")
        self.messages.append(f"{generation}: begun before, ended after")
        for older in self._rotated:
            compress(older)
        self._rotated = [rotated]


def compress(path: Path) -> None:
    """As the kubelet: into a file with another name first."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_bytes(gzip.compress(path.read_bytes()))
    temporary.rename(path.with_name(f"{path.name}.gz"))
    path.unlink()


def test_rotations_of_the_kubelet_under_load_neither_lose_nor_repeat_a_message(agent: LocalAgent) -> None:
    runtime = Runtime(agent.directory)
    agent.configure(
        [f"{runtime.link.parent}/*.log"], parsers=[{"container": None}], **{"prospector.scanner.symlinks": True}
    )
    agent.start()
    for generation in range(GENERATIONS):
        for number in range(MESSAGES):
            runtime.write(f"{generation}: message {number}", parts=PARTS if number % 10 == 1 else 1)
        agent.await_messages(f"{generation}: message 0")  # it has the file: the kubelet leaves it ten seconds
        runtime.rotate(generation)
    runtime.close()
    agent.await_messages(runtime.messages[-1])
    assert agent.stop() == 0
    assert agent.all == runtime.messages
