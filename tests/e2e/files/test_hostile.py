"""What a program may write by accident or on purpose, read by the real process: its memory stays bounded, a truncated
message is flagged, and the line behind it is read as usual. Each case is stopped by another part of the readers; more
cases of each part: tests/unit/shipper/reader.
"""

import base64
import gzip
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent, numbered
from tests.e2e.running import await_true

MIB = 1024**2
SIZE = 100 * MIB
MAX_MESSAGE_BYTES = 10 * MIB  # the default of message_max_bytes
# The idle agent takes some 40 MiB. A message is decoded, cut and encoded, and each NUL of it is six bytes in JSON.
MAX_MEMORY = 400 * MIB
MULTILINE = {"multiline": {"type": "pattern", "pattern": r"^\s", "match": "after", "timeout": "1s"}}
CONTAINER = {"container": {"stream": "all"}}
CRI = b"2026-01-01T00:00:00.%dZ stdout %s "


@dataclass(frozen=True)
class Hostile:
    """`head`, then `block` again and again, then `end`, which contains the next message. The first message begins with
    `text`."""

    head: bytes
    block: bytes
    end: bytes
    text: str
    parsers: tuple[dict[str, Any], ...] = ()
    size: int = SIZE

    def write(self, path: Path) -> int:
        """Write the file; return its size."""
        with path.open("wb") as file:
            file.write(self.head)
            for block in self._blocks():
                file.write(block)
            file.write(self.end)
        return path.stat().st_size

    def _blocks(self) -> Iterator[bytes]:
        for _ in range(self.size // MIB):
            yield self.block * (MIB // len(self.block))


CASES = {
    "a line without end": Hostile(b"", b"x", b"\nnext\n", "xxx"),
    "one of NULs": Hostile(b"x", b"\0", b"\nnext\n", "x\0\0\0"),
    "parts of a container's line without end": Hostile(
        b"",
        CRI % (1, b"P") + b"x" * 16384 + b"\n",
        CRI % (2, b"F") + b"end\n" + CRI % (3, b"F") + b"next\n",
        "xxx",
        parsers=(CONTAINER,),
    ),
    "a stack trace of a million lines": Hostile(
        b"one\n",
        b"\tat com.example.Some.where(Some.java:1)\n",
        b"next\n",
        "one\n\tat com",
        parsers=(MULTILINE,),
        size=40 * MIB,
    ),
    "a JSON text without end": Hostile(
        b'{"message":"', b"x", b'"}\n{"message":"next"}\n', '{"message":"xxx', parsers=({"ndjson": {}},)
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_file_costs_bounded_memory_and_nothing_behind_it(case: str, agent: LocalAgent) -> None:
    hostile = CASES[case]
    agent.configure(parsers=list(hostile.parsers))
    size = hostile.write(agent.path)
    agent.start()
    await_true(lambda: "next" in agent.messages, lambda: f"the next line; logged:\n{agent.log[-1000:]}")
    memory = most_memory(agent.process.pid)
    assert agent.stop() == 0
    first, last = agent.events
    assert last["message"] == "next"
    assert last["log"]["offset"] + last["log"]["length"] == size
    assert memory < MAX_MEMORY, f"{memory // MIB} MiB"
    assert (first["log"]["offset"], first["log"]["length"]) == (0, last["log"]["offset"])
    assert first["message"].startswith(hostile.text)
    assert len(first["message"].encode()) <= MAX_MESSAGE_BYTES
    assert "truncated" in first["log"]["flags"]


def test_lines_without_an_end_in_many_files_cost_no_more_than_the_bound(agent: LocalAgent) -> None:
    names = [f"{number:03}.log" for number in range(40)]
    size = 8 * MIB
    for name in names:
        (agent.logs / name).write_bytes(name.encode() + b"x" * (size - len(name)))
    agent.settings["queue.mem.pending_bytes"] = "16MiB"
    agent.configure()
    agent.start()
    await_true(lambda: len({message[:7] for message in agent.messages} & set(names)) > 30, "what was cut short")
    assert agent.log.count("queue.mem.pending_bytes") == 1
    for name in names:
        agent.append("end", path=agent.logs / name)
    await_true(lambda: sum(event["log"]["length"] for event in agent.events) == len(names) * (size + 4), "all of it")
    memory = most_memory(agent.process.pid)
    assert agent.stop() == 0
    assert memory < 250 * MIB, f"{memory // MIB} MiB"


def test_lines_that_become_a_thousand_times_as_large_cost_bounded_memory_and_a_signal_is_heard(
    agent: LocalAgent,
) -> None:
    """Two hundred of them are read at the same time, more than any output could take at once."""
    packed = base64.b64encode(gzip.compress(b"x" * MIB))
    field = {"field": {"from": "message"}}
    agent.configure(processors=[{"decode_base64_field": field}, {"decompress_gzip_field": field}])
    agent.path.write_bytes((packed + b"\n") * 2000)
    agent.start()
    await_true(
        lambda: agent.destination.stat().st_size > 400 * MIB, f"four hundred lines; logged:\n{agent.log[-1000:]}"
    )
    memory = most_memory(agent.process.pid)
    agent.freeze()  # so that the signal comes before anything more is written
    written = agent.destination.stat().st_size
    agent.process.terminate()
    agent.thaw()
    assert agent.wait() == 0
    assert agent.destination.stat().st_size - written < 400 * MIB, "more than what was in flight"
    assert memory < MAX_MEMORY, f"{memory // MIB} MiB"


def most_memory(pid: int) -> int:
    """Return the most memory that a process ever had, in bytes."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def test_a_file_that_is_mapped_into_memory_comes_once_while_it_is_written(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*.log*"], **{"prospector.scanner.check_interval": "100ms"})
    agent.start()
    expected = numbered("mapped", 3000)
    with agent.path.open("w+b") as file:
        size = written = 0
        for number, line in enumerate(expected):
            content = f"{line}\n".encode()
            if written + len(content) > size:
                size += 16 * 1024
                file.truncate(size)
            with mmap.mmap(file.fileno(), size) as mapped:
                mapped[written : written + len(content)] = content
            written += len(content)
            if number % 1000 == 500:
                agent.await_messages(line)
        file.truncate(written)
    agent.expect(*expected)
    assert len(set(agent.ids(*expected))) == 1
