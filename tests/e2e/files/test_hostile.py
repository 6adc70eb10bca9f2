"""What a program may write by accident or on purpose, read by the real process: its memory stays bounded, what was cut
says so, and the line behind it is read as if nothing had been.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true

MIB = 1024**2
SIZE = 100 * MIB
LONGEST = 10 * MIB  # the default of message_max_bytes
# The agent at rest takes some 40 MiB. A message is decoded, cut and encoded, and each NUL of it is six bytes in JSON.
MOST_MEMORY = 400 * MIB
MULTILINE = {"multiline": {"type": "pattern", "pattern": r"^\s", "match": "after", "timeout": "1s"}}
CONTAINER = {"container": {"stream": "all"}}
CRI = b"2026-01-01T00:00:00.%dZ stdout %s "


@dataclass(frozen=True)
class Hostile:
    """`begin`, then `block` again and again, then `end`, which has the next message in it. The first message begins
    with `text` and takes `length` raw bytes in all; both are None where nothing comes of it."""

    begin: bytes
    block: bytes
    end: bytes
    text: str | None
    options: dict[str, Any] = field(default_factory=dict)
    parsers: tuple[dict[str, Any], ...] = ()
    size: int = SIZE
    truncated: bool = True

    def write(self, path: Path) -> int:
        """How many bytes there are before the next message."""
        with path.open("wb") as file:
            file.write(self.begin)
            for block in self._blocks():
                file.write(block)
            file.write(self.end)
            return file.tell()

    def _blocks(self) -> Iterator[bytes]:
        for _ in range(self.size // MIB):
            yield self.block * (MIB // len(self.block))


def deep(opening: bytes, closing: bytes, depth: int) -> bytes:
    return opening * depth + b"1" + closing * depth


CASES = {
    "a line without end": Hostile(b"", b"x", b"\nnext\n", "xxx"),
    "one in utf-16": Hostile(
        b"", "é".encode("utf-16-le"), "\nnext\n".encode("utf-16-le"), "ééé", {"encoding": "utf-16le"}
    ),
    "one of NULs": Hostile(b"", b"\0", b"\nnext\n", "\0\0\0"),
    "one of bytes that are not UTF-8": Hostile(b"", b"\xff", b"\nnext\n", "\ufffd\ufffd"),
    "nothing but empty lines": Hostile(b"", b"\n", b"next\n", None, size=5 * MIB),
    "a part of a container's line": Hostile(
        CRI % (1, b"P"), b"x", b"\n" + CRI % (2, b"F") + b"end\n" + CRI % (3, b"F") + b"next\n", "xxx",
        parsers=(CONTAINER,),
    ),
    "parts of a container's line without end": Hostile(
        b"", CRI % (1, b"P") + b"x" * 16384 + b"\n", CRI % (2, b"F") + b"end\n" + CRI % (3, b"F") + b"next\n", "xxx",
        parsers=(CONTAINER,),
    ),
    "a line of a message": Hostile(b"one\n ", b"x", b"\nnext\n", "one\n xxx", parsers=(MULTILINE,)),
    "a stack trace of a million lines": Hostile(
        b"one\n", b"\tat com.example.Some.where(Some.java:1)\n", b"next\n", "one\n\tat com", parsers=(MULTILINE,),
        size=40 * MIB,
    ),
    "a JSON text without end": Hostile(
        b'{"message":"', b"x", b'"}\n{"message":"next"}\n', '{"message":"xxx', parsers=({"ndjson": {}},)
    ),
    "deep JSON": Hostile(
        deep(b'{"a":', b"}", 10_000) + b"\n", b"", b'{"message":"next"}\n', '{"a":{"a":', parsers=({"ndjson": {}},),
        size=0, truncated=False,
    ),
    "deep lists in JSON": Hostile(
        b'{"a":' + deep(b"[", b"]", 10_000) + b"}\n", b"", b'{"message":"next"}\n', '{"a":[[[', size=0,
        parsers=({"ndjson": {}},), truncated=False,
    ),
    "half a character": Hostile(b"zw\xc3\n", b"", b"next\n", "zw\ufffd", size=0, truncated=False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_file_costs_bounded_memory_and_nothing_behind_it(case: str, agent: LocalAgent) -> None:
    hostile = CASES[case]
    agent.configure(parsers=list(hostile.parsers), **hostile.options)
    size = hostile.write(agent.path)
    agent.start()
    await_true(lambda: "next" in agent.messages, f"the next line; said:\n{agent.log[-1000:]}")
    memory = most_memory(agent.process.pid)
    assert agent.stop() == 0
    *before, last = agent.events
    assert last["message"] == "next"
    assert last["log"]["offset"] + last["log"]["length"] == size
    assert memory < MOST_MEMORY, f"{memory // MIB} MiB"
    assert len(before) == (0 if hostile.text is None else 1)
    for event in before:
        log = event["log"]
        assert (log["offset"], log["length"]) == (0, last["log"]["offset"])
        assert event["message"].startswith(str(hostile.text))
        assert len(event["message"].encode()) <= LONGEST
        assert ("truncated" in log.get("flags", [])) == hostile.truncated


def most_memory(pid: int) -> int:
    """The most that a process ever had in memory, in bytes."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def test_half_a_character_at_the_end_waits_for_the_other_half(agent: LocalAgent) -> None:
    agent.path.write_bytes(b"one\n\xe2\x82")
    agent.start()
    agent.await_messages("one")
    with agent.path.open("ab") as file:
        file.write(b"\xac\n")
    agent.expect("one", "€")
