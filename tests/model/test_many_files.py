"""What is decided about a file costs by what happened to it, never by how many there are: the calls of Python's
functions in a step are counted, among few files and among many."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType

import pytest

from log_shipper.shipper.agent.service import Pulse
from log_shipper.shipper.inputs.files.discovery.survey import FULL_SCAN_EVERY
from log_shipper.shipper.options.model import ShipperConfig
from tests.lab import CHECK_INTERVAL
from tests.still_lab import StillLab

FEW, MANY = 40, 200
PER_WAITING_FILE = 9  # calls of a scan that finds everything as it was: each name is listed
PER_FILE = 24  # calls of a scan and of what follows from it: each name is listed, and compared with what was known


def calls(work: Callable[[], object], of: CodeType | None = None) -> int:
    """Return how many functions are called, or how often the function with this code is."""
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call") if of is None else event == "call" and frame.f_code is of

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


class CountedLab(StillLab):
    """Only the agent's own calls are to be counted."""

    def check(self) -> None:
        pass


Shape = Callable[[CountedLab, int], None]


def write(lab: CountedLab, files: int) -> None:
    for number in range(files):
        (lab.logs / f"{number}.log").write_text(f"line of {number}\n")


def idle(lab: CountedLab, files: int) -> None:
    write(lab, files)
    lab.start()


def renamed(lab: CountedLab, files: int) -> None:
    idle(lab, files)
    lab.take_steps(files)
    for number in range(files):
        lab.rotate(f"{number}.log", f"{number}.renamed")


def named_again(lab: CountedLab, files: int) -> None:
    idle(lab, files)
    lab.take_steps(files)
    for number in range(files):
        lab.rotate(f"{number}.log", f"{number}.log.1")


def removed(lab: CountedLab, files: int) -> None:
    """While nothing is acknowledged."""
    idle(lab, files)
    lab.destination.holding = True
    lab.take_steps(files)
    for number in range(files):
        lab.remove(f"{number}.log")


def waiting(lab: CountedLab, files: int) -> None:
    """For a place that none of the open ones leaves."""
    lab.input = {"harvester_limit": 3}
    idle(lab, files)
    lab.destination.holding = True


@pytest.fixture(params=[idle, renamed, named_again, removed, waiting], ids=lambda shape: shape.__name__)
def shape(request: pytest.FixtureRequest) -> Shape:
    made: Shape = request.param
    return made


def among(shape: Shape, directory: Path, files: int) -> CountedLab:
    """Return an agent that has read one file and found the others to be as the shape has them."""
    directory.mkdir()
    lab = CountedLab(directory)
    (lab.logs / "other.log").write_text("first\n")
    shape(lab, files)
    lab.take_steps(3 * files)
    lab.scan(2)
    lab.take_steps(files)
    return lab


class InputsLab(CountedLab):
    """An input for each of so many files, which have numbers, and one for another file."""

    inputs = 0

    def _config(self) -> ShipperConfig:
        config = super()._config()
        (first,) = config.file_inputs
        names = ["other", *map(str, range(self.inputs))]
        inputs = (replace(first, id=f"of {name}", paths=(f"{self.logs}/{name}.log",)) for name in names)
        return replace(config, inputs=tuple(inputs))


def compared(shape: Shape, tmp_path: Path, work: Callable[[CountedLab], object]) -> tuple[int, int]:
    counts = []
    for files in (FEW, MANY):
        lab = among(shape, tmp_path / f"{files}", files)
        try:
            counts.append(calls(lambda: work(lab)))  # noqa: B023
        finally:
            lab.close()
    return counts[0], counts[1]


def test_a_line_costs_the_same_among_few_files_and_among_many(shape: Shape, tmp_path: Path) -> None:
    def append(lab: CountedLab) -> None:
        before = lab.running.metrics.events_read
        lab.append("other.log", "second\n")
        lab.take_steps(20)
        assert lab.running.metrics.events_read == before + 1

    few, many = compared(shape, tmp_path, append)
    assert many < few * 1.02 + 10


def test_a_file_that_comes_costs_hardly_more_among_many(shape: Shape, tmp_path: Path) -> None:
    """The scan and what follows from it look at all names, but not closely."""

    def add(lab: CountedLab) -> None:
        lab.append("new.log", "first\n")
        for _ in range(3):
            lab.step(CHECK_INTERVAL / 100)

    few, many = compared(shape, tmp_path, add)
    assert many - few < (MANY - FEW) * PER_FILE


def test_a_line_costs_the_same_among_few_inputs_and_among_many(tmp_path: Path) -> None:
    counts = []
    for inputs in (FEW, MANY):
        (tmp_path / f"{inputs}").mkdir()
        lab = InputsLab(tmp_path / f"{inputs}")
        lab.inputs = inputs
        (lab.logs / "other.log").write_text("first\n")
        idle(lab, inputs)
        lab.take_steps(3 * inputs)
        before = lab.running.metrics.events_read
        lab.append("other.log", "second\n")
        counts.append(calls(lambda: lab.take_steps(20)))  # noqa: B023
        assert (before, lab.running.metrics.events_read) == (inputs + 1, inputs + 2)
        lab.close()
    assert counts[1] < counts[0] * 1.02 + 10


def test_a_scan_hardly_looks_at_the_files_that_wait(tmp_path: Path) -> None:
    few, many = compared(waiting, tmp_path, lambda lab: lab.step(CHECK_INTERVAL + 1))
    assert many - few < (MANY - FEW) * PER_WAITING_FILE


@pytest.mark.parametrize(
    ("seconds", "times"),
    [
        pytest.param(
            0.0, 8, id="the first scan lists it, looks at it, opens it, identifies it in four steps, starts it"
        ),
        pytest.param(FULL_SCAN_EVERY, 4, id="a full scan lists it, looks at it and at what is open, and closes it"),
    ],
)
def test_a_long_step_makes_progress_from_file_to_file(tmp_path: Path, seconds: float, times: int) -> None:
    """However many files there are, and however slow their file system is, the watchdog hears of the next one. `times`:
    for each of them, as each look at it may take long."""
    counts = []
    for files in (FEW, MANY):
        (tmp_path / f"{files}").mkdir()
        lab = CountedLab(tmp_path / f"{files}")
        idle(lab, files)
        if seconds:
            lab.take_steps(3 * files)
        counts.append(calls(lambda: lab.step(seconds), Pulse.beat.__code__))  # noqa: B023
        lab.close()
    assert (counts[1] - counts[0]) // (MANY - FEW) == times
