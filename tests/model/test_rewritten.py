"""Reports that are rewritten in place (`>`): each begins and ends as the one before, and the agent looks only when
the file is complete again."""

import os

import pytest

from tests.lab import CHECK_INTERVAL, CLOSE_INACTIVE, Lab

HEADER = "".join(f"{'#' * 60} column {number:02}\n" for number in range(22))  # more than the fingerprint
FOOTER = "".join(f"{'-' * 60} footer {number}\n" for number in range(6))  # more than the tail
KINDS = ["same size", "longer", "shorter"]


def report(numbers: range, filling: int = 0) -> str:
    return HEADER + f"{'x' * 999}\n" * filling + "".join(f"{number:06}\n" for number in numbers) + FOOTER


def rewritten(kind: str, filling: int = 0) -> str:
    """Another report; of those that are longer or shorter, the end comes at another offset."""
    match kind:
        case "longer":
            return report(range(100, 105), filling) + FOOTER
        case "shorter":
            return report(range(100, 104), filling)
        case _:
            return report(range(100, 105), filling)


def overwrite(lab: Lab, name: str, content: str) -> None:
    """Stop the agent meanwhile."""
    (lab.logs / name).write_text(content)


def expect_reports(lab: Lab, name: str, *reports: str) -> None:
    lab.expect_lines(name, *"".join(reports).splitlines())
    assert len(lab.file_ids) == len(reports)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filling", [0, 300], ids=["small", "large"])
def test_a_report_that_was_rewritten_in_place_is_a_new_file(lab: Lab, kind: str, filling: int) -> None:
    first, second = report(range(5), filling), rewritten(kind, filling)
    lab.ship("a.log", *first.splitlines())
    lab.calm_down()
    overwrite(lab, "a.log", second)
    expect_reports(lab, "a.log", first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_also_one_that_was_closed_meanwhile(lab: Lab, kind: str) -> None:
    first, second = report(range(5)), rewritten(kind)
    lab.ship("a.log", *first.splitlines())
    lab.calm_down()
    lab.step(CLOSE_INACTIVE)
    lab.wait_until(lambda: not lab.crawler.running)
    overwrite(lab, "a.log", second)
    expect_reports(lab, "a.log", first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_also_one_that_waits_for_its_turn(lab: Lab, kind: str) -> None:
    lab.input["harvester_limit"] = 1
    first, second = report(range(5)), rewritten(kind)
    lab.ship("a.log", *first.splitlines())
    lab.calm_down()
    lab.destination.holding = True
    lab.append("b.log", "one\n")
    lab.wait_until(
        lambda: [harvester.state.path for harvester in lab.crawler.running.values()] == [f"{lab.logs}/b.log"]
    )
    overwrite(lab, "a.log", second)
    lab.take_steps()
    lab.destination.holding = False
    lab.expect_lines("a.log", *(first + second).splitlines())


def test_also_one_whose_time_was_set_back(lab: Lab) -> None:
    first, second = report(range(5)), rewritten("same size")
    lab.ship("a.log", *first.splitlines())
    lab.calm_down()
    status = (lab.logs / "a.log").stat()
    overwrite(lab, "a.log", second)
    os.utime(lab.logs / "a.log", ns=(status.st_atime_ns, status.st_mtime_ns))
    expect_reports(lab, "a.log", first, second)


def test_a_file_that_was_touched_is_read_once_more_and_sent_no_more(lab: Lab) -> None:
    lab.ship("a.log", "one", "two")
    lab.calm_down()
    os.utime(lab.logs / "a.log")
    lab.step(CHECK_INTERVAL)
    lab.append("a.log", "three\n")
    lab.expect_lines("a.log", "one", "two", "three")
    assert len(lab.file_ids) == 1
