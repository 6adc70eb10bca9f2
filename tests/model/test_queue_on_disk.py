"""The whole agent with a queue on disk: what its files had is delivered, although they and the agent are gone."""

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from config.shipper.queues import DiskQueueConfig, WatermarkConfig
from tests.lab import Lab
from tests.model.seeds import seeds


def stand_still(lab: Lab) -> None:
    """The destination takes nothing, for long."""
    for _ in range(30):
        lab.step(seconds=0.2, wait=0.002)


def kill(lab: Lab) -> None:
    """As `Lab.kill`; a file that a thread removes while the data are copied is no kill."""
    while True:
        with suppress(shutil.Error):
            lab.kill()
            return


def segments(lab: Lab) -> list[Path]:
    return sorted((lab.data / "diskqueue").glob("*.seg"))


def test_lines_of_a_file_that_is_deleted_survive_an_outage_and_a_kill(lab: Lab) -> None:
    lab.disk_queue = DiskQueueConfig()
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    stand_still(lab)
    assert segments(lab)
    lab.remove("a.log")
    stand_still(lab)
    kill(lab)
    lab.start()
    lab.until(lambda: lab.messages == ["one", "two"])
    assert lab.running.metrics.bytes_lost == 0


def test_an_output_that_works_leaves_the_disk_alone(lab: Lab) -> None:
    lab.disk_queue = DiskQueueConfig()
    lab.ship("a.log", "one", "two")
    assert segments(lab) == []


def test_without_its_section_the_disk_is_not_used_for_files(lab: Lab) -> None:
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    stand_still(lab)
    assert not (lab.data / "diskqueue").exists()


@pytest.mark.parametrize("section", [None, DiskQueueConfig(enabled=False)])
def test_what_is_left_is_delivered_also_without_the_section(lab: Lab, section: DiskQueueConfig | None) -> None:
    lab.disk_queue = DiskQueueConfig(path=str(lab.data / "elsewhere") if section is None else None)
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    stand_still(lab)
    kill(lab)
    lab.remove("a.log")
    lab.disk_queue = section
    lab.start()
    lab.until(lambda: lab.messages == ["one", "two"])
    lab.append("b.log", "three\n")
    lab.expect_lines("b.log", "three")


def test_more_than_memory_holds_waits_on_disk_and_comes_in_order(lab: Lab) -> None:
    lab.disk_queue, lab.queue_events = DiskQueueConfig(), 100
    lines = [f"{number}" for number in range(5000)]
    lab.append("a.log", "".join(f"{line}\n" for line in lines))
    lab.start()
    lab.destination.holding = True
    for number in range(20):
        lab.append("b.log", f"{number}\n")
        stand_still(lab)
    queue = lab.running.pipeline.queue
    assert queue.events < 2 * 5000
    lab.destination.holding = False
    lab.expect_lines("a.log", *lines)
    lab.expect_lines("b.log", *(f"{number}" for number in range(20)))


def test_a_run_with_once_waits_for_what_is_on_disk(lab: Lab) -> None:
    lab.disk_queue = DiskQueueConfig(flush=0)
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    stand_still(lab)
    kill(lab)
    lab.remove("a.log")
    lab.start(once=True)
    assert not lab.running.loop.finished
    lab.until(lambda: lab.running.loop.finished)
    assert lab.messages == ["one"]


def test_deleted_files_are_given_up_on_a_file_system_at_its_last_watermark(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    everything = -1e18  # bytes that no file system has free
    lab.disk_queue = DiskQueueConfig(watermark=WatermarkConfig(low=everything, high=everything, flood=everything))
    lab.queue_events = 32
    lab.append("a.log", "line\n" * 200_000)
    lab.start()
    lab.destination.room = 0
    stand_still(lab)
    lab.remove("a.log")
    for _ in range(30):  # longer than the writer's thread takes to look
        lab.step(seconds=10, wait=0.01)
    assert segments(lab) == []
    (warning,) = [line for line in caplog.messages if "given up" in line]
    assert "queue.disk.watermark.flood" in warning
    assert lab.running.metrics.bytes_lost > 0
    disk = lab.running.pipeline.disk
    figures = None if disk is None else disk.figures()
    assert figures is not None
    assert (figures.watermark, figures.is_full) == (3, True)


@pytest.mark.parametrize("seed", seeds(10))
def test_nothing_is_lost_whatever_is_killed_deleted_and_delayed(lab: Lab, seed: int) -> None:
    dice = random.Random(seed)
    lab.disk_queue = DiskQueueConfig(flush=dice.choice((0, 0.1)), segment_size=dice.choice((1000, 10**6)))
    lab.queue_events = dice.choice((0, 20, 200))
    written = list[str]()
    lab.start()
    for number in range(30):
        match dice.randrange(8):
            case 0:
                kill(lab)
                lab.start()
            case 1:
                lab.destination.holding = not lab.destination.holding
            case 2 if lab.destination.holding:
                lab.destination.arrive_some(dice.randrange(5))
                lab.destination.acknowledge_one(dice.randrange(5))
            case 3 | 4 | 5:
                lines = [f"{number} {index}" for index in range(dice.randrange(1, 40))]
                lab.append(dice.choice(("a.log", "b.log")), "".join(f"{line}\n" for line in lines))
                written += lines
            case _:
                for _ in range(dice.randrange(1, 20)):
                    lab.step(dice.choice((0.001, 0.05, 1.0)), wait=0.001)
    lab.destination.holding = False
    lab.destination.arrive()
    lab.destination.acknowledge()
    lab.until(lambda: set(written) <= set(lab.messages), seconds=1)
