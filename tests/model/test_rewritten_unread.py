"""Files that are rewritten in place before they are read: what is lost then is counted."""

import pytest

from log_shipper.shipper.options.model import FileIdentityConfig
from tests.builders import multiline
from tests.lab import Lab

AT_ONCE = 0.0005  # seconds of a step, in which no scan is due


def lines(word: str, count: int) -> str:
    return "".join(f"{word} {number:06}\n" for number in range(count))


SECOND = lines("second", 10)
HEADER = lines("header", 200)  # more than the fingerprint


def overwrite(lab: Lab, name: str, content: str) -> None:
    (lab.logs / name).write_text(content)
    lab.keep(lab.logs / name)


def fill_queue(lab: Lab) -> None:
    lab.append("other.log", "x\n" * 20)
    lab.destination.holding = True
    lab.wait_until(lambda: not lab.running.pipeline.has_room)


def look(lab: Lab) -> None:
    for _ in range(5):
        lab.step(1.0)


def count_lost(lab: Lab) -> int:
    """Let everything be sent; return the number of lost bytes."""
    lab.destination.holding = False
    lab.scan()
    return lab.bytes_lost + lab.running.metrics.bytes_lost


@pytest.mark.parametrize("then", ["third\n", "", None], ids=["shorter", "empty", "deleted"])
def test_content_behind_a_line_in_flight_is_counted_if_it_is_replaced(lab: Lab, then: str | None) -> None:
    lab.start()
    lab.destination.holding = True
    lab.append("a.log", "one\n")
    lab.wait_until(lambda: lab.running.metrics.events_read, AT_ONCE)
    overwrite(lab, "a.log", SECOND)
    lab.wait_until(lambda: lab.running.metrics.files_truncated, AT_ONCE)
    lab.scan(3)
    if then is None:
        lab.remove("a.log")
    else:
        overwrite(lab, "a.log", then)
    lab.scan(3)
    assert count_lost(lab) == len(SECOND)
    assert "third" in lab.messages or then != "third\n"


def test_so_is_content_that_is_replaced_while_the_queue_is_full(lab: Lab) -> None:
    lab.queue_events = 10
    lab.ship("a.log", "one")
    fill_queue(lab)
    overwrite(lab, "a.log", SECOND)
    lab.scan(3)
    overwrite(lab, "a.log", "third\n")
    lab.scan(3)
    assert count_lost(lab) == len(SECOND)
    assert "third" in lab.messages


def test_so_are_lines_that_are_overwritten_before_their_file_is_proven(lab: Lab) -> None:
    lab.start_with_an_unproven("b.log", SECOND)
    look(lab)
    overwrite(lab, "b.log", "third\n")
    assert count_lost(lab) == len(SECOND)
    assert "third" in lab.messages


@pytest.mark.parametrize("rest", [0, 28], ids=["at its position", "behind it"])
@pytest.mark.parametrize("nuls", [False, True], ids=["shorter", "NULs"])
def test_unread_lines_that_are_cut_off_while_the_agent_is_down_are_counted(lab: Lab, rest: int, nuls: bool) -> None:
    lab.ship("a.log", *HEADER.splitlines())
    lab.destination.holding = True
    lab.append("a.log", SECOND)
    lab.wait_until(lambda: lab.running.metrics.events_read == 210, AT_ONCE)
    lab._end()  # a stop while the output is blocked
    lab.truncate("a.log", len(HEADER) + rest)
    if nuls:
        lab.truncate("a.log", len(HEADER + SECOND))
    lab.start()
    assert count_lost(lab) == len(SECOND) - rest


@pytest.mark.parametrize("then", ["more", "NULs"])
def test_so_are_those_that_are_cut_off_while_the_queue_is_full(lab: Lab, then: str) -> None:
    lab.queue_events = 10
    lab.ship("a.log", *HEADER.splitlines())
    fill_queue(lab)
    lab.append("a.log", SECOND)
    look(lab)
    lab.truncate("a.log", len(HEADER) + 28)
    if then == "more":
        look(lab)
        lab.append("a.log", lines("third", 20))
    else:
        lab.truncate("a.log", 100_000)
    look(lab)
    assert count_lost(lab) == len(SECOND) - 28


def test_each_content_of_a_file_that_waits_to_be_opened_is_counted(lab: Lab) -> None:
    lab.input["harvester_limit"] = 1
    lab.ship("a.log", "one")
    lab.calm_down()
    lab.destination.holding = True
    lab.append("b.log", "one\n")
    lab.wait_until(lambda: [file.state.path for file in lab.crawler.running.values()] == [f"{lab.logs}/b.log"])
    for content in (first := "one\n" + lines("first", 20), SECOND, "third\n"):
        overwrite(lab, "a.log", content)
        lab.scan(2)
    assert count_lost(lab) == len(first) - len("one\n") + len(SECOND)


def test_a_large_file_that_is_rewritten_with_another_head_while_it_is_read_is_another_file(lab: Lab) -> None:
    lab.queue_events = 3000
    body = ("y" * 63 + "\n") * 8192
    first = "report of monday".ljust(63) + "\n" + body + lines("monday", 1000)
    second = "report of tuesday".ljust(63) + "\n" + body + lines("tuesday", 2000)
    (lab.logs / "a.log").write_text(first)
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: not lab.running.pipeline.has_room)
    overwrite(lab, "a.log", second)
    lost = count_lost(lab)
    texts = {id_: [event.message for event in lab.arrived if event.file_id == id_] for id_ in lab.file_ids}
    assert sorted(len(of_file) for of_file in texts.values())[-1] == len(second.splitlines())
    assert not any("monday" in of_file[0] and "tuesday" in of_file[-1] for of_file in texts.values())
    assert lost >= len(lines("monday", 1000))


@pytest.mark.parametrize("is_full", [False, True], ids=["a pending message", "the queue is full"])
def test_by_path_a_file_that_is_renamed_and_truncated_has_lost_what_was_not_read(lab: Lab, is_full: bool) -> None:
    lab.input["file_identity"] = FileIdentityConfig("path")
    lab.parsers = () if is_full else (multiline(r"^\s"),)
    lab.queue_events = 10
    lab.append("app.log", "one\n")
    lab.start()
    lab.scan(3)
    if is_full:
        fill_queue(lab)
    lab.append("app.log", "two\n more\n")
    lab.take_steps()
    if is_full:
        look(lab)
    lab.rotate("app.log", to="app.log.1")
    lab.truncate("app.log.1")
    lab.append("app.log.1", "new\n")
    lab.step(AT_ONCE)
    lost = count_lost(lab)
    assert "two\n more" in lab.messages or lost >= len("two\n more\n")
    assert "new" in lab.messages


@pytest.mark.parametrize("name", ["app.log.1", "app.log.old"])
def test_lines_that_only_a_copy_had_are_counted_if_it_is_overwritten_by_the_next_one(lab: Lab, name: str) -> None:
    lab.ship("app.log", "one")
    lab.destination.holding = True
    lab.append("app.log", "two\n")
    lab.wait_until(lambda: lab.running.metrics.events_read == 2, AT_ONCE)
    lab.append("app.log", SECOND)
    lab.copytruncate("app.log", name)
    lab.append("app.log", "three\n")
    lab.wait_until(lambda: lab.running.metrics.files_truncated, AT_ONCE)
    lab.scan(3)
    lab.copytruncate("app.log", name)
    lab.append("app.log", "four\n")
    lab.scan(3)
    lost = count_lost(lab)
    assert len(SECOND) <= lost <= len(SECOND + "three\n")
    assert lab.messages[-1] == "four"


@pytest.mark.parametrize("shipped", [["one"], []])
def test_so_is_a_pending_message_that_only_a_copy_had(lab: Lab, shipped: list[str]) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.ship("app.log", *shipped)
    lab.append("app.log", "two\n more\n")
    lab.take_steps()
    lab.copytruncate("app.log", "app.log.1")
    lab.append("app.log", "new\n")
    lab.step(AT_ONCE)
    lab.copytruncate("app.log", "app.log.1")
    lost = count_lost(lab)
    assert "two\n more" in lab.messages or lost >= len("two\n more\n")


def test_a_suspected_copy_that_is_overwritten_is_a_file_of_its_own(lab: Lab) -> None:
    lab.start()
    lab.destination.holding = True
    lab.append("app.log", "one\n")
    lab.wait_until(lambda: lab.running.metrics.events_read, AT_ONCE)
    lab.copytruncate("app.log", "app.log.old")
    lab.wait_until(lambda: lab.running.metrics.files_truncated, AT_ONCE)
    lab.scan(2)
    for content in (SECOND, "third\n"):
        overwrite(lab, "app.log.old", content)
        lab.scan(2)
    lost = count_lost(lab)
    assert SECOND.splitlines()[0] in lab.messages or lost >= len(SECOND)


@pytest.mark.parametrize("first", ["", "one\n"], ids=["empty", "with a line"])
def test_what_is_added_to_a_file_that_waits_to_be_opened_is_counted_when_it_is_deleted(lab: Lab, first: str) -> None:
    lab.input["harvester_limit"] = 1
    lab.start()
    lab.destination.holding = True
    lab.append("a.log", "x\n")
    lab.scan()
    lab.append("b.log", first)
    lab.scan()
    lab.append("b.log", SECOND)
    lab.scan()
    lab.remove("b.log")
    lab.scan()
    assert count_lost(lab) == len(first + SECOND)


@pytest.mark.parametrize("first", ["", "one\n"], ids=["empty", "with a line"])
def test_so_is_what_is_added_just_before_that_to_one_that_was_open_before(lab: Lab, first: str) -> None:
    lab.input["harvester_limit"] = 1
    lab.append("b.log", first)
    lab.start()
    lab.scan()
    lab.calm_down()
    lab.destination.holding = True
    lab.append("a.log", "x\n")
    lab.wait_until(lambda: [file.state.path for file in lab.crawler.running.values()] == [f"{lab.logs}/a.log"])
    lab.append("b.log", "two\n")
    lab.scan(3)
    lab.append("b.log", SECOND)
    lab.step(AT_ONCE)
    lab.remove("b.log")
    lab.scan()
    assert count_lost(lab) == len("two\n" + SECOND)


def test_so_is_a_file_that_waits_behind_a_link_which_leads_nowhere_for_a_while(lab: Lab) -> None:
    """As when a pod is deleted: its log goes before the link of the container."""
    lab.input["harvester_limit"] = 1
    lab.paths = (f"{lab.logs}/*.log",)
    lab.scanner["symlinks"] = True
    target = lab.logs.parent / "0.txt"
    (lab.logs / "b.log").symlink_to(target)
    lab.start()
    lab.destination.holding = True
    lab.append("a.log", "x\n")
    lab.scan()
    target.write_text(SECOND)
    lab.keep(target)
    lab.scan(3)
    target.unlink()
    lab.scan(3)
    lab.remove("b.log")
    assert count_lost(lab) == len(SECOND)


def test_what_a_file_got_after_it_was_rewritten_just_before_a_stop_is_not_counted(lab: Lab) -> None:
    lab.ship("app.log", "one", "two")
    lab.scan(2)
    lab.truncate("app.log")
    lab.append("app.log", "longer than before\n")
    lab.stop()
    lab.start()
    assert count_lost(lab) == 0
    assert lab.messages == ["one", "two", "longer than before"]
