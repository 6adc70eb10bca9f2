"""Lines and messages without an end, in many files: all together are bounded, and nothing is lost."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.queues import MemQueue, QueueConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.lab import Lab

MIB = 1024**2
FILES = 12
PART = 300 * 1024


class SmallLab(Lab):
    def _config(self) -> ShipperConfig:
        return replace(super()._config(), queue=QueueConfig(mem=MemQueue(pending_bytes=MIB)))

    @property
    def pending(self) -> int:
        return sum(harvester.pending_bytes for harvester in self.crawler.running.values())

    @property
    def is_read(self) -> bool:
        running = self.crawler.running.values()
        return len(running) == FILES and all(harvester.read_to == harvester.size for harvester in running)

    def parts(self, name: str) -> list[str]:
        """Return what arrived of a file, each part once; a repeat must be equal."""
        inode = self.inode(name)
        arrived: dict[tuple[str, int], tuple[int, str]] = {}
        for event in self.arrived:
            if event.inode == inode:
                part = (event.length, event.message)
                assert arrived.setdefault((event.file_id, event.offset), part) == part
        return [message for _, (_, message) in sorted(arrived.items(), key=lambda item: item[0][1])]

    @property
    def flagged(self) -> int:
        return sum("truncated" in json.loads(record)["log"].get("flags", ()) for record in self.records)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[SmallLab]:
    lab = SmallLab(tmp_path)
    yield lab
    lab.close()


def line(number: int) -> str:
    """Return a line whose parts show to which line they belong."""
    return "".join(f"{number}:{index:06} " for index in range(PART // 9))


def test_holes_at_the_start_of_files_take_no_memory_and_are_not_ended(lab: SmallLab) -> None:
    for number in range(FILES):
        with (lab.logs / f"{number}.log").open("wb") as file:
            file.seek(3 * MIB)
            file.write(b"first\nsecond\n")
    lab.start()
    lab.wait_until(lambda: lab.messages.count("second") == FILES)
    assert lab.messages.count("first") == FILES
    assert lab.running.metrics.messages_cut_short == 0


def test_the_largest_lines_without_an_end_become_messages_and_lose_nothing(
    lab: SmallLab, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(FILES):
        lab.append(f"{number}.log", line(number))
    lab.start()
    lab.wait_until(lambda: lab.is_read)
    cut = lab.running.metrics.messages_cut_short
    assert FILES - 5 < cut < FILES
    lab.wait_until(lambda: lab.flagged == cut)
    assert lab.pending < 1.2 * MIB
    assert "queue.mem.pending_bytes" in caplog.text
    for number in range(FILES):
        lab.append(f"{number}.log", "end\n")
    lab.calm_down()
    for number in range(FILES):
        assert "".join(lab.parts(f"{number}.log")) == line(number) + "end"


def test_a_line_that_was_cut_short_is_cut_there_again_after_a_kill(lab: SmallLab) -> None:
    lab.flush = 1e9  # so that all is read again
    for number in range(FILES):
        lab.append(f"{number}.log", line(number))
    lab.start()
    lab.calm_down()
    before = {number: lab.parts(f"{number}.log") for number in range(FILES)}
    lab.kill()
    lab.flush = 1.0
    lab.start()
    for number in range(FILES):
        lab.append(f"{number}.log", "end\n")
    lab.calm_down()
    for number, parts in before.items():
        assert lab.parts(f"{number}.log")[: len(parts)] == parts
        assert "".join(lab.parts(f"{number}.log")) == line(number) + "end"


def test_messages_of_many_lines_are_bounded_too(lab: SmallLab) -> None:
    lab.parsers = (MultilineConfig(pattern=r"^\s", timeout=1e9, max_lines=10**6),)
    content = "begin\n" + " more of it\n" * (PART // 12)
    for number in range(FILES):
        lab.append(f"{number}.log", content)
    lab.start()
    lab.calm_down()
    assert lab.pending < 1.2 * MIB
    assert lab.running.metrics.messages_cut_short > FILES - 5
    for number in range(FILES):
        lab.append(f"{number}.log", "next\nlast\n")
    lab.calm_down()
    for number in range(FILES):
        assert "".join(lab.parts(f"{number}.log")).replace("\n", "") == content.replace("\n", "") + "next"


def test_compressed_ones_are_bounded_too(lab: SmallLab) -> None:
    lab.input = {"compression": "gzip"}
    contents = {f"{number}.log.gz": line(number) for number in range(FILES)}
    for name, content in contents.items():
        packed = gzip.compress(content.encode())
        lab.append(name, packed[: len(packed) // 2 * 2 - 8])  # the trailer is still to come
    lab.start()
    lab.calm_down()
    assert lab.pending < 1.2 * MIB
    assert lab.flagged > FILES - 5
    for name, content in contents.items():
        packed = gzip.compress(content.encode())
        lab.append(name, packed[len(packed) // 2 * 2 - 8 :])
    lab.calm_down()
    for name, content in contents.items():
        assert "".join(lab.parts(name)) == content


def test_below_the_bound_every_line_waits_for_its_end(lab: SmallLab) -> None:
    for number in range(3):
        lab.append(f"{number}.log", line(number))
    lab.start()
    lab.calm_down()
    assert lab.records == []
    for number in range(3):
        lab.append(f"{number}.log", "end\n")
    lab.calm_down()
    assert [lab.parts(f"{number}.log") for number in range(3)] == [[line(number) + "end"] for number in range(3)]
