"""Inputs that are added, removed and changed while the agent runs."""

import gzip
import logging
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.inputs import TakeOverConfig
from log_shipper.shipper.options.model import (
    CloseConfig,
    DeleteConfig,
    InputConfig,
    ProspectorConfig,
    QueueConfig,
    ReaderCloseConfig,
    ScannerConfig,
)
from log_shipper.shipper.options.queues import MemQueue
from tests.builders import multiline
from tests.model.reloading import ReloadingLab

START = r"^\S"
TAKE_OVER = TakeOverConfig(enabled=True)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ReloadingLab]:
    lab = ReloadingLab(tmp_path)
    yield lab
    lab.close()


class ReloadLog:
    """What was logged about the configuration."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        caplog.set_level(logging.INFO, "log_shipper.shipper.agent.reload")

    @property
    def messages(self) -> list[str]:
        return [
            record.getMessage() for record in self._caplog.records if record.name == "log_shipper.shipper.agent.reload"
        ]


@pytest.fixture
def reload_log(caplog: pytest.LogCaptureFixture) -> ReloadLog:
    return ReloadLog(caplog)


def test_an_unchanged_input_continues_with_the_same_open_file(lab: ReloadingLab) -> None:
    a, b = lab.make_input("a", "a.log"), lab.make_input("b", "b.log")
    lab.append("a.log", "one\nhalf")
    lab.configure(a, b)
    lab.ship("b.log", "one")
    before, started = lab.harvesters["a.log"], lab.running.metrics.harvesters_started
    lab.reload(a, replace(b, tags=("new",)), lab.make_input("c", "c.log"))
    lab.append("a.log", " a line\n")
    lab.append("b.log", "two\n")
    lab.append("c.log", "one\n")
    lab.expect_lines("a.log", "one", "half a line")
    lab.expect_lines("b.log", "one", "two")
    lab.expect_lines("c.log", "one")
    assert lab.harvesters["a.log"] is before
    assert lab.running.metrics.harvesters_started == started + 2


def test_events_that_are_read_after_the_change_follow_the_new_configuration(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.ship("a.log", "one")
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    assert lab.tagged_messages() == [("one", []), ("two", ["new"])]


def test_what_is_in_flight_is_acknowledged_before_the_file_is_resumed(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log", prospector=ProspectorConfig(scanner=ScannerConfig(check_interval=3600)))
    lab.append("a.log", "one\ntwo\n")
    lab.configure(a)
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "three\n")
    for _ in range(50):
        lab.step(seconds=1)
    assert lab.harvesters == {}
    lab.destination.holding = False
    lab.wait_until(lambda: len(lab.records) == 3)  # before the next scan
    assert lab.tagged_messages() == [("one", []), ("two", []), ("three", ["new"])]


def test_an_input_of_another_type_and_id_takes_over_the_files_of_one_that_was_removed(lab: ReloadingLab) -> None:
    lab.configure(replace(lab.make_input("old", "a.log"), type="log"))
    lab.ship("a.log", "one")
    lab.reload(lab.make_input("new", "a.log", take_over=TAKE_OVER))
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    lab.stop()
    lab.configure(
        replace(lab.make_input("third", "a.log", take_over=TakeOverConfig(enabled=True, from_ids=("new",))), type="log")
    )
    lab.append("a.log", "three\n")
    lab.start()
    lab.expect_lines("a.log", "one", "two", "three")
    assert lab.messages == ["one", "two", "three"]


def test_the_files_of_an_input_are_taken_over_by_the_one_whose_filters_let_them_through(lab: ReloadingLab) -> None:
    lab.configure(lab.make_input("all", "*.log"))
    lab.append("access.log", "one\n")
    lab.ship("app.log", "two")
    app = ProspectorConfig(scanner=ScannerConfig(exclude_files=("access",)))
    access = ProspectorConfig(scanner=ScannerConfig(include_files=("access",)))
    lab.reload(
        lab.make_input("app", "*.log", prospector=app, take_over=TAKE_OVER),
        lab.make_input("access", "*.log", prospector=access, take_over=TAKE_OVER),
    )
    lab.append("access.log", "three\n")
    lab.append("app.log", "four\n")
    lab.scan(3)
    assert sorted(lab.messages) == ["four", "one", "three", "two"]


def test_a_known_file_that_is_too_old_no_more_is_read(lab: ReloadingLab) -> None:
    lab.configure(lab.make_input("files", "*.log"))
    lab.ship("a.log", "one")
    lab.stop()
    lab.append("a.log", "two\n")
    os.utime(lab.logs / "a.log", (lab.clock.time() - 9999,) * 2)
    lab.configure(lab.make_input("files", "*.log", ignore_older=3600.0))
    lab.start()
    lab.scan(3)
    assert lab.messages == ["one"]
    lab.reload(lab.make_input("files", "*.log"))
    lab.scan(3)
    assert lab.messages == ["one", "two"]


def test_a_pending_message_comes_once_and_whole(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log", parsers=(multiline(START, negate=True),))
    lab.append("a.log", "one\n  more\ntwo\n")
    lab.configure(a)
    lab.start()
    lab.wait_until(lambda: lab.tagged_messages())
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "  of it\nthree\n")
    lab.expect_lines("a.log", "one\n  more", "two\n  of it", "three")
    assert lab.messages == ["one\n  more", "two\n  of it", "three"]


def test_a_removed_input_stops_and_resumes_where_it_was_when_it_is_back(lab: ReloadingLab) -> None:
    a, b = lab.make_input("a", "a.log"), lab.make_input("b", "b.log")
    lab.configure(a, b)
    lab.ship("a.log", "one")
    lab.reload(b)
    lab.append("a.log", "two\n")
    lab.calm_down()
    assert lab.tagged_messages() == [("one", [])]
    assert lab.inode("a.log") not in lab.opened_by_agent()
    lab.reload(a, b)
    lab.expect_lines("a.log", "one", "two")
    assert len(lab.records) == 2


def test_an_input_with_another_id_reads_the_files_as_new_ones(lab: ReloadingLab) -> None:
    lab.configure(lab.make_input("a", "a.log"))
    lab.ship("a.log", "one")
    lab.reload(lab.make_input("z", "a.log"))
    lab.append("a.log", "two\n")
    lab.wait_until(lambda: lab.messages == ["one", "one", "two"])
    assert lab.harvesters["a.log"].source.input_id == "z"


@pytest.mark.parametrize("from_ids", [("other",), ("a",)])
def test_it_takes_over_the_files_of_the_ids_that_it_names_alone(lab: ReloadingLab, from_ids: tuple[str, ...]) -> None:
    a = lab.make_input("a", "a.log")
    z = lab.make_input("z", "a.log", take_over=TakeOverConfig(enabled=True, from_ids=from_ids))
    lab.append("a.log", "one\n")
    lab.configure(a)
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.reload(z)
    lab.append("a.log", "two\n")
    lab.take_steps()
    lab.destination.holding = False
    expected = ["one", "two"] if from_ids == ("a",) else ["one", "one", "two"]
    lab.wait_until(lambda: lab.messages == expected)
    lab.reload(a, z)
    lab.calm_down()
    assert sorted(lab.messages) == sorted([*expected, *(["one", "two"] if from_ids == ("a",) else ["two"])])


def test_an_input_whose_id_is_derived_resumes_the_files_of_another_one(lab: ReloadingLab) -> None:
    """It has an id for each set of paths, which nobody sees."""
    one, two = (lab.make_input("", f"{name}.log").converted() for name in "ab")
    lab.configure(one)
    lab.ship("a.log", "one")
    lab.reload(replace(two, id="", paths=(*one.paths, *two.paths)).converted())
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    assert lab.messages == ["one", "two"]


def test_a_file_that_was_deleted_before_all_of_it_was_read_is_read_to_its_end(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    inode = lab.inode("a.log")
    lab.remove("a.log")
    lab.reload(replace(a, tags=("new",)))
    lab.wait_until(lambda: len(lab.records) == 2, seconds=0.5)
    assert lab.lines(inode) == ["one", "two"]


def test_a_file_that_was_moved_out_of_the_paths_is_read_to_its_end(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.rotate("a.log", "away")
    lab.append("a.log", "new one\n")
    lab.reload(replace(a, tags=("new",)))
    lab.expect_lines("away", "one", "two")
    lab.expect_lines("a.log", "new one")


def read_pending(lab: ReloadingLab, config: InputConfig) -> None:
    """Write a line to a.log, and wait until it is read: with multiline its message is pending."""
    lab.append("a.log", "one\n")
    lab.configure(config)
    lab.start()
    lab.wait_until(lambda: "a.log" in lab.harvesters and lab.harvesters["a.log"].read_to)


def rotate_within_the_message(lab: ReloadingLab) -> None:
    """Rotate a.log, and wait until the pending message continues in the new file."""
    lab.rotate("a.log", "a.log.1")
    lab.append("a.log", "  more\n")
    lab.wait_until(lambda: any(harvester.is_continued for harvester in lab.harvesters.values()))


def test_a_message_across_a_rotation_is_joined_after_the_change_too(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log*", parsers=(multiline(START, negate=True),))
    read_pending(lab, a)
    rotate_within_the_message(lab)
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "two\n")
    lab.wait_until(lambda: len(lab.records) == 2, seconds=0.5)
    assert lab.messages == ["one\n  more", "two"]


def test_two_files_that_share_a_message_are_read_on_together(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log*", parsers=(multiline(START, negate=True),))
    lab.append("a.log", "zero\none\n")
    lab.configure(a)
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    rotate_within_the_message(lab)
    lab.reload(replace(a, tags=("new",)))
    for _ in range(20):
        lab.step(seconds=1)
    lab.destination.holding = False
    lab.append("a.log", "two\n")
    lab.wait_until(lambda: len(lab.records) == 3, seconds=0.5)
    assert lab.messages == ["zero", "one\n  more", "two"]


def test_a_file_in_which_the_message_of_a_deleted_one_continues_is_released_after_it(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log*", parsers=(multiline(START, negate=True),))
    read_pending(lab, a)
    rotate_within_the_message(lab)
    lab.remove("a.log.1")
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "two\nthree\n")
    lab.wait_until(lambda: len(lab.records) >= 3, seconds=0.5)
    assert lab.messages == ["one\n  more", "two", "three"]


def test_what_waits_for_the_registry_is_not_forgotten(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log", parsers=(multiline(START, negate=True),))
    read_pending(lab, a)
    harvester = lab.harvesters["a.log"]
    lab.wait_until(lambda: harvester.state.cuts, seconds=1)  # ended by time: the cut must be saved first
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "two\nthree\n")
    lab.wait_until(lambda: len(lab.records) >= 3, seconds=0.5)
    assert lab.messages == ["one", "two", "three"]


def test_changed_again_before_the_first_change_is_done(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log")
    lab.append("a.log", "one\n")
    lab.configure(a)
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.reload(replace(a, tags=("first",)))
    lab.append("a.log", "two\n")
    lab.step(seconds=1)
    lab.reload(replace(a, tags=("second",)))
    lab.destination.holding = False
    lab.expect_lines("a.log", "one", "two")
    assert lab.tagged_messages() == [("one", []), ("two", ["second"])]


def test_a_new_input_reads_only_new_lines_if_so_configured(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log")
    lab.append("a.log", "one\n")
    lab.append("b.log", "old\n")
    lab.configure(a)
    lab.start()
    lab.expect_lines("a.log", "one")
    lab.reload(a, lab.make_input("b", "b.log", tail_files=True))
    lab.calm_down()
    lab.append("b.log", "new\n")
    lab.expect_lines("b.log", "new")


def test_new_rules_for_closing_apply_to_new_harvesters(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log", close=CloseConfig())
    lab.configure(a)
    lab.ship("a.log", "one")
    lab.reload(replace(a, close=CloseConfig(reader=ReaderCloseConfig(on_eof=True))))
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    lab.wait_until(lambda: not lab.harvesters, seconds=0.5)


def test_what_all_inputs_have_changes_all_of_them(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    lab.configure(lab.make_input("a", "a.log"), lab.make_input("b", "b.log"))
    lab.start()
    lab.reload(tags=("new",))
    assert reload_log.messages == ["reloaded: 2 inputs changed"]


def test_the_change_is_logged_in_numbers(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    a, b, c, d = (lab.make_input(name, f"{name}.log") for name in "abcd")
    lab.configure(a, b, c)
    lab.start()
    lab.reload(replace(a, tags=("new",)), b, d, replace(c, enabled=False))
    lab.hang_up()
    assert reload_log.messages == [
        "reloaded: 1 input added, 1 removed, 1 changed, 1 unchanged",
        "reloaded: nothing changed",
    ]


def test_a_number_that_becomes_a_boolean_is_a_change(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    lab.configure(lab.make_input("a", "a.log", fields={"x": 1}))
    lab.start()
    lab.reload(lab.make_input("a", "a.log", fields={"x": True}))
    assert reload_log.messages == ["reloaded: 1 input changed"]


@pytest.mark.parametrize(
    "mistake", [ConfigError([Problem("a.yml", 3, "tags", "is wrong")]), StartError("a.yml:3: tags: is wrong")]
)
def test_a_mistake_changes_nothing(lab: ReloadingLab, reload_log: ReloadLog, mistake: Exception) -> None:
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.append("a.log", "one\n")
    lab.start()
    lab.expect_lines("a.log", "one")
    before = lab.harvesters
    lab.fails = mistake
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    assert lab.harvesters == before
    assert "a.yml:3: tags: is wrong" in reload_log.messages[0]
    lab.fails = None
    lab.hang_up()
    assert reload_log.messages[1] == "reloaded: 1 input changed"


def test_an_input_that_cannot_work_changes_nothing(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.start()
    lab.reload(replace(a, tags=("new",)), lab.make_input("b", "b.log", fields={"number": 10**40}))
    assert "fields: a value cannot be written as JSON" in reload_log.messages[0]
    lab.reload(a, fields={})
    assert reload_log.messages[1] == "reloaded: nothing changed"


def test_lines_are_shipped_while_the_configuration_is_read(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.start()
    lab.delayed = []
    lab.reload(replace(a, tags=("new",)))
    lab.append("a.log", "one\n")
    lab.expect_lines("a.log", "one")
    lab.reload(replace(a, tags=("newer",)))  # during the first reading: a second one follows it
    (work,) = lab.delayed
    lab.configure(replace(a, tags=("new",)))
    work()
    lab.running.reloader.step()
    assert reload_log.messages == ["reloaded: 1 input changed"]
    lab.configure(replace(a, tags=("newer",)))
    lab.running.reloader.step()
    lab.delayed[-1]()
    lab.running.reloader.step()
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    assert lab.tagged_messages() == [("one", []), ("two", ["newer"])]


def test_of_many_mistakes_some_are_logged(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    lab.configure(lab.make_input("a", "a.log"))
    lab.start()
    lab.fails = ConfigError([Problem("a.yml", line, "tags", "is wrong") for line in range(1, 4001)])
    lab.hang_up()
    (message,) = reload_log.messages
    assert message.splitlines()[-2:] == [
        "a.yml:20: tags: is wrong",
        "... and 3980 more: run 'shipper test config'",
    ]


def test_standard_input_cannot_be_added(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    lab.configure(lab.make_input("a", "a.log"))
    lab.start()
    lab.reload(lab.make_input("in", "", type="stdin"))
    assert "a stdin input can only be added with a restart" in reload_log.messages[0]


def test_what_cannot_change_is_named_and_stays(lab: ReloadingLab, reload_log: ReloadLog) -> None:
    lab.configure(lab.make_input("a", "a.log"))
    lab.start()
    lab.reload(queue=QueueConfig(mem=MemQueue(events=7)), name="other")
    assert reload_log.messages == ["changes that need a restart: queue.mem.events, name"]
    lab.append("a.log", "one\n")
    lab.reload(replace(lab.configured.file_inputs[0], tags=("new",)))
    lab.expect_lines("a.log", "one")
    assert reload_log.messages[1:] == [
        "changes that need a restart: queue.mem.events, name",
        "reloaded: 1 input changed",
    ]
    assert '"name":"lab"' in lab.records[0]


def test_all_inputs_can_go(lab: ReloadingLab) -> None:
    lab.append("a.log", "one\n")
    a = lab.make_input("a", "a.log")
    lab.configure(a)
    lab.start()
    lab.expect_lines("a.log", "one")
    lab.reload(replace(a, enabled=False))
    lab.append("a.log", "two\n")
    lab.calm_down()
    lab.reload(a)
    lab.expect_lines("a.log", "one", "two")


@pytest.mark.parametrize("seed", range(40))
def test_whatever_changes_every_line_comes_once_and_in_order(lab: ReloadingLab, seed: int) -> None:
    chance = random.Random(seed)
    parsers = (multiline(START, negate=True),) if seed % 2 else ()
    inputs = [lab.make_input(name, f"{name}.log*", parsers=parsers, take_over=TAKE_OVER) for name in "ab"]
    lab.configure(*inputs)
    lab.start()
    written: dict[str, int] = {"a": 0, "b": 0}
    rotated = {"a": 0, "b": 0}
    for _ in range(60):
        name = chance.choice("ab")
        match chance.choice(["append", "append", "append", "reload", "reload", "rotate", "hold", "step", "step"]):
            case "append":
                for _ in range(chance.randrange(1, 4)):
                    more = "  more\n" if parsers else ""
                    lab.append(f"{name}.log", f"{name}{written[name]:04}\n{more}")
                    written[name] += 1
            case "reload":
                index = chance.randrange(2)
                tag, input_id = str(chance.random()), f"{'ab'[index]}{chance.randrange(2)}"
                inputs[index] = replace(inputs[index], tags=(tag,), id=input_id)
                lab.reload(*inputs)
            case "rotate" if (lab.logs / f"{name}.log").exists():
                rotated[name] += 1
                lab.rotate(f"{name}.log", f"{name}.log.{rotated[name]}")
            case "hold":
                lab.destination.holding = not lab.destination.holding
            case _:
                for _ in range(chance.randrange(10)):
                    lab.step(seconds=chance.choice([0.001, 0.1, 1.0]))
    lab.destination.holding = False
    for name in "ab":
        lab.append(f"{name}.log", f"{name}{written[name]:04}\nend\n")
        written[name] += 1
    lab.wait_until(
        lambda: sum(message[0] in "ab" for message, _ in lab.tagged_messages()) >= sum(written.values()), seconds=0.5
    )
    lab.calm_down()
    for inode in lab.inodes:  # lines of two files may come in any order
        lines = [line.partition("\n")[0] for line in lab.lines(inode)]
        assert lines == sorted(lines, key=lambda line: (line == "end", line))
    came = sorted(message for message, _ in lab.tagged_messages() if message[0] in "ab")
    more = "\n  more" if parsers else ""
    last = {f"{name}{written[name] - 1:04}" for name in "ab"}  # they have no second line
    expected = [f"{name}{number:04}" for name in "ab" for number in range(written[name])]
    assert came == [message if message in last else message + more for message in expected]


def test_a_suspected_copy_is_distinguished_from_a_new_file_after_the_change_too(lab: ReloadingLab) -> None:
    a = lab.make_input("a", "a.log*")
    lab.configure(a)
    lab.ship("a.log", "one", "two")
    lab.append("a.log.1", "one\ntwo\n")
    lab.wait_until(lambda: lab.inode("a.log.1") in lab.opened_by_agent())
    lab.reload(replace(a, tags=("new",)))
    lab.step()
    lab.truncate("a.log")
    lab.append("a.log", "three\n")
    lab.expect_lines("a.log", "one", "two", "three")
    lab.calm_down()
    assert lab.tagged_messages() == [("one", []), ("two", []), ("three", ["new"])]


def test_a_suspected_copy_is_closed_with_its_input(lab: ReloadingLab) -> None:
    a, b = lab.make_input("a", "a.log*"), lab.make_input("b", "b.log")
    lab.configure(a, b)
    lab.ship("a.log", "one", "two")
    lab.append("a.log.1", "one\ntwo\n")
    lab.wait_until(lambda: lab.inode("a.log.1") in lab.opened_by_agent())
    lab.reload(b)
    assert not {lab.inode("a.log"), lab.inode("a.log.1")} & lab.opened_by_agent()
    lab.calm_down()
    assert len(lab.records) == 2


def test_a_file_that_turns_out_to_be_another_after_its_input_was_removed_is_released(lab: ReloadingLab) -> None:
    a, b = lab.make_input("a", "a.log"), lab.make_input("b", "b.log")
    lines = "".join(f"{number:05}\n" for number in range(500))
    lab.append("a.log", lines)
    lab.configure(a)
    lab.start()
    lab.wait_until(lambda: len(lab.records) == 500)
    lab.stop()
    (lab.logs / "a.log").write_text(lines.replace("00250", "other"))
    lab.append("b.log", "one\n" * 20)
    lab.configure(b, queue=QueueConfig(mem=MemQueue(events=10)))
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: not lab.running.pipeline.has_room)
    lab.reload(a, b)
    lab.wait_until(lambda: "a.log" in lab.harvesters)
    inode = lab.inode("a.log")
    lab.remove("a.log")
    lab.reload(b)
    lab.destination.holding = False
    lab.wait_until(lambda: "a.log" not in lab.harvesters)
    assert inode not in lab.opened_by_agent()
    lab.expect_lines("b.log", *["one"] * 20)
    assert len(lab.records) == 520


@pytest.mark.parametrize("input_id", ["files", "new"])
def test_what_is_added_to_a_file_between_its_inputs_is_counted_when_it_is_deleted(
    lab: ReloadingLab, input_id: str
) -> None:
    lab.configure(lab.make_input("files", "*.log"))
    lab.start()
    lab.destination.holding = True
    lab.append("a.log", "one\n")
    lab.wait_until(lambda: lab.running.metrics.events_read)
    lab.reload(lab.make_input(input_id, "*.log", tags=("new",), take_over=TAKE_OVER))
    lab.append("a.log", "two\n" * 100)
    lab.scan(3)
    lab.remove("a.log")
    lab.scan(3)
    lab.destination.holding = False
    lab.scan(3)
    assert (lab.messages, lab.running.metrics.bytes_lost) == (["one"], 400)


@pytest.mark.parametrize("input_id", ["files", "new"])
@pytest.mark.parametrize("how", ["copytruncate", "slow copytruncate", "gzip"])
def test_a_copy_of_a_file_between_its_inputs_is_recognised(lab: ReloadingLab, input_id: str, how: str) -> None:
    lab.configure(lab.make_input("files", "a.log*", compression="auto"))
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.running.metrics.events_read)
    lab.reload(lab.make_input(input_id, "a.log*", compression="auto", tags=("new",), take_over=TAKE_OVER))
    lab.append("a.log", "three\n")
    if how == "gzip":
        (lab.logs / "a.log.1.gz").write_bytes(gzip.compress((lab.logs / "a.log").read_bytes()))
    else:
        lab.copy("a.log", "a.log.1")
    if how != "copytruncate":
        lab.take_steps()
    if how == "gzip":
        shutil.copystat(lab.logs / "a.log", lab.logs / "a.log.1.gz")
        lab.remove("a.log")
    else:
        lab.truncate("a.log")
    lab.scan(3)
    lab.destination.holding = False
    lab.calm_down()
    assert lab.messages == ["one", "two", "three"]


def test_a_waiting_file_that_is_deleted_just_before_a_reload_is_counted(lab: ReloadingLab) -> None:
    limited = lab.make_input("files", "*.log", harvester_limit=1)
    lab.append("a.log", "one\n")
    os.utime(lab.logs / "a.log", (1, 1))  # the oldest one is opened first
    for name in ("b.log", "other.log"):
        lab.append(name, "two\n" * 100)
    lab.configure(limited)
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.crawler.status().waiting == 2)
    lab.remove("b.log")
    lab.remove("other.log")
    lab.reload(replace(limited, paths=(f"{lab.logs}/[ab].log",)))
    lab.destination.holding = False
    lab.scan(3)
    assert (lab.messages, lab.running.metrics.bytes_lost) == (["one"], 400)


@pytest.mark.parametrize("then", ["another input", "not deleting"])
def test_a_file_that_its_input_deletes_no_more_stays(lab: ReloadingLab, then: str) -> None:
    lab.configure(lab.make_input("files", "*.log", delete=DeleteConfig(enabled=True, grace_period=1800.0)))
    lab.ship("a.log", "one")
    for _ in range(10):
        lab.step(100.0)
    assert not lab.crawler.running
    lab.reload(lab.make_input("other", "*.txt") if then == "another input" else lab.make_input("files", "*.log"))
    for _ in range(40):
        lab.step(100.0)
    assert (lab.logs / "a.log").exists()
