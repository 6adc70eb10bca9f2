"""The whole agent with a queue on disk: what its files had is delivered, although they and the agent are gone."""

import random
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.agent.running import _end
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.options.queues import DiskQueueConfig, WatermarkConfig
from log_shipper.shipper.wake import Wake
from tests.builders import batch
from tests.descriptors import open_below
from tests.fakes import ManualClock
from tests.lab import LONG, Lab
from tests.model.seeds import seeds


def stand_still(lab: Lab) -> None:
    """Block the destination for long. What is to be written then is on disk, however slow it is."""
    for _ in range(30):
        lab.step(seconds=0.2, wait=0.002)
        lab.wait_until(lambda: is_written(lab), seconds=0)
    lab.step(seconds=0, wait=0.002)  # takes in what is written


def is_written(lab: Lab) -> bool:
    """Return True if nothing waits to be written, or for what waits there is no room."""
    pipeline = lab.running.pipeline
    figures = None if pipeline.disk is None else pipeline.disk.figures()
    return not pipeline.is_writing or (figures is not None and (figures.is_full or bool(figures.problem)))


def kill(lab: Lab) -> None:
    """As `Lab.kill`; a file that a thread removes while the data are copied is no kill."""
    while True:
        with suppress(shutil.Error):
            lab.kill()
            return


def kill_once_saved(lab: Lab) -> None:
    """Kill it when the registry has on disk what was noted: the events that are written, or lost."""
    assert lab.running.registrar.save([]).wait(LONG)
    kill(lab)


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
    kill_once_saved(lab)
    lab.start()
    lab.wait_until(lambda: lab.messages == ["one", "two"])
    assert lab.running.metrics.bytes_lost == 0


def waiting(lab: Lab) -> int:
    """Let 20 lines of a file wait on disk, remove the file, and kill the agent. Return the bytes of the newest
    segment."""
    lab.disk_queue = DiskQueueConfig(flush=0)
    lab.start()
    lab.destination.holding = True
    for number in range(20):
        lab.append("a.log", f"{number}\n")
        stand_still(lab)
    lab.remove("a.log")
    stand_still(lab)
    kill_once_saved(lab)
    return segments(lab)[-1].stat().st_size


def events_lost(lab: Lab) -> int:
    disk = lab.running.pipeline.disk
    figures = None if disk is None else disk.figures()
    assert figures is not None, "there is a queue on disk"
    return figures.events_lost


@pytest.mark.parametrize("place", [0.1, 0.97])
def test_a_flipped_bit_costs_the_lines_of_one_batch_which_are_counted(lab: Lab, place: float) -> None:
    size = waiting(lab)
    data = bytearray(segments(lab)[-1].read_bytes())
    data[int(size * place)] ^= 4
    segments(lab)[-1].write_bytes(data)
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 19)
    assert events_lost(lab) == 1


@pytest.mark.parametrize(("whole", "section"), [(False, True), (True, True), (False, False), (True, False)])
def test_what_is_removed_is_counted(lab: Lab, whole: bool, section: bool, caplog: pytest.LogCaptureFixture) -> None:
    waiting(lab)
    if not section:
        lab.disk_queue = None
    for directory in lab.data.parent.glob("data*/diskqueue"):  # that of a killed agent has another path
        if whole:
            shutil.rmtree(directory)
        else:
            for path in directory.glob("*.seg"):
                path.unlink()
    lab.start()
    lab.step(seconds=0.2)
    assert events_lost(lab) == 20
    assert "Lost: at least 20 undelivered events" in caplog.text
    kill_once_saved(lab)
    lab.start()
    if section:
        assert events_lost(lab) == 0  # a loss is counted once


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


def received(lab: Lab, text: str, resolved: list[str]) -> Batch:
    """Return what came from a sender that does not send it again."""
    made = batch([text], f"id-of-{text}", resolve=lambda: resolved.append(text), time=lab.clock.time())
    made.source = replace(made.source, repeatable=False)
    return made


def test_what_cannot_be_read_again_is_kept_without_any_section(lab: Lab) -> None:
    resolved = list[str]()
    lab.append("a.log", "of a file\n")
    lab.start()
    lab.destination.holding = True
    lab.running.pipeline.put(received(lab, "sent", resolved))
    stand_still(lab)
    assert resolved == ["sent"]
    assert len(segments(lab)) == 1
    kill(lab)
    lab.start()
    lab.wait_until(lambda: sorted(lab.messages) == ["of a file", "sent"])


def test_a_queue_that_is_off_keeps_nothing_on_disk(lab: Lab) -> None:
    resolved = list[str]()
    lab.disk_queue = DiskQueueConfig(enabled=False)
    lab.start()
    lab.destination.holding = True
    lab.running.pipeline.put(received(lab, "sent", resolved))
    stand_still(lab)
    assert (resolved, segments(lab)) == ([], [])


def test_a_queue_that_cannot_be_made_while_the_agent_runs_is_no_reason_to_end(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    resolved = list[str]()
    lab.start()
    (lab.data / "diskqueue").write_text("a file in the way")
    lab.running.pipeline.put(received(lab, "sent", resolved))
    lab.wait_until(lambda: lab.messages == ["sent"])
    assert resolved == ["sent"]
    assert "is a file, but must be a directory" in caplog.text
    assert "events that cannot be re-read are kept in memory only" in caplog.text


def test_a_queue_that_could_not_be_made_is_made_later_and_leaves_no_descriptor_open(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    resolved = list[str]()
    lab.start()
    lab.destination.holding = True
    (lab.data / "diskqueue" / "id").mkdir(parents=True)  # in the way of a file, behind the lock
    for text in ("one", "two", "three"):
        lab.running.pipeline.put(received(lab, text, resolved))
        stand_still(lab)
        assert open_below(lab.data / "diskqueue") == []
    assert "in use by" not in caplog.text
    (lab.data / "diskqueue" / "id").rmdir()
    lab.running.pipeline.put(received(lab, "four", resolved))
    stand_still(lab)
    assert resolved == ["four"]


def test_what_was_received_and_can_be_kept_nowhere_is_counted_at_the_end(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    resolved = list[str]()
    lab.disk_queue = DiskQueueConfig()
    lab.start()
    lab.destination.holding = True
    shutil.rmtree(lab.data / "diskqueue")
    (lab.data / "diskqueue").write_text("in the way")
    lab.running.pipeline.put(received(lab, "sent", resolved))
    for _ in range(3):
        stand_still(lab)
    disk = lab.running.pipeline.disk
    assert disk is not None
    disk.close(0.2)
    assert resolved == []
    assert "of inputs that cannot read them again: cannot write the queue in" in caplog.text


def test_a_second_agent_is_kept_out_of_the_directory(lab: Lab, tmp_path: Path) -> None:
    lab.disk_queue = DiskQueueConfig(path=str(tmp_path / "queue"))
    lab.start()
    (tmp_path / "second").mkdir()
    second = Lab(tmp_path / "second")
    second.disk_queue = lab.disk_queue
    try:
        with pytest.raises(StartError, match=r"queue\.disk\.path .*in use by process \d+; stop that agent"):
            second.start()
    finally:
        second.close()


def test_a_directory_that_is_not_used_any_more_and_not_empty_is_named(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.disk_queue = DiskQueueConfig()
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    stand_still(lab)
    previous = lab.data / "diskqueue"
    kill(lab)
    lab.disk_queue = DiskQueueConfig(path=str(lab.data / "other"))
    lab.start()
    assert f"the queue on disk was previously in {previous} and may still contain events" in caplog.text


@pytest.mark.parametrize("place", [None, "elsewhere"])
@pytest.mark.parametrize("section", [None, DiskQueueConfig(enabled=False)])
def test_what_is_left_is_delivered_also_without_the_section(
    lab: Lab, section: DiskQueueConfig | None, place: str | None
) -> None:
    lab.disk_queue = DiskQueueConfig(path=None if place is None else str(lab.data / place))
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    stand_still(lab)
    kill(lab)
    lab.remove("a.log")
    lab.disk_queue = section
    lab.start()
    lab.wait_until(lambda: lab.messages == ["one", "two"])
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


class HastyClock(ManualClock):
    """An hour passes each time that it is asked for the time."""

    def monotonic(self) -> float:
        self.advance(3600)
        return super().monotonic()


def test_a_stop_puts_on_disk_what_is_not_delivered_by_then(lab: Lab) -> None:
    lab.disk_queue = DiskQueueConfig(flush=60)
    resolved = list[str]()
    lab.append("a.log", "of a file\n")
    lab.start()
    lab.destination.holding = True
    lab.running.pipeline.put(received(lab, "sent", resolved))
    lab.take_steps()
    assert (resolved, segments(lab)) == ([], [])
    wake = Wake()
    config = replace(lab._config(), shutdown_timeout=LONG)
    assert _end(lab.running, config, Environment(lab.data, wake, HastyClock()), "it is stopped") == 0
    wake.close()
    assert resolved == ["sent"]
    kill(lab)
    lab.remove("a.log")
    lab.start()
    lab.wait_until(lambda: sorted(lab.messages) == ["of a file", "sent"])


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
    lab.wait_until(lambda: lab.running.loop.finished)
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
    lab.wait_until(lambda: "closed before its end" in caplog.text, seconds=10)
    assert segments(lab) == []
    (warning,) = [line for line in caplog.messages if "closed before its end" in line]
    assert "queue.disk.watermark.flood" in warning
    assert lab.running.metrics.bytes_lost > 0
    disk = lab.running.pipeline.disk
    figures = None if disk is None else disk.figures()
    assert disk is not None
    assert figures is not None
    assert (figures.watermark, figures.is_full) == (3, True)
    disk.close(0.1)  # there is never room for what waits: the end of the test would wait for it


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
    lab.wait_until(lambda: set(written) <= set(lab.messages), seconds=1)
