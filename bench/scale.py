"""Many files, many registry entries, and a small file with a big one: `script/bench --scale`."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench import beside, crowd, positions
from bench.appends import Delays
from bench.contenders import Contender
from bench.runs import Runs, report, reported_failures
from bench.table import Sheet

PARTS = ("files", "registry", "big")
LINES = 20  # of each of the many files
FEW_ENTRIES = 10
ALONE = 20.0  # seconds of writing the small file without a big one
APART = 32  # partitions: two files rarely share one

AIMS = {
    "catch-up: s": "< 5",
    "many, open: % of a core": "< 0.3",
    "many, open: memory MB": "< 150",
    "many, closed: % of a core": "< 0.3",
    "many, closed: memory MB": "< 150",
    "many, open: p50 ms": "as one file",
    "many, closed: p50 ms": "as few files",
    "registry: CPU s to open": "< 5",
    "registry: ms to save one": "as of 10",
    "with big file, same partition: max ms": "alone + 50",
    "with big file: max ms": "alone + 50",
}


@dataclass(frozen=True, slots=True)
class ScaleSizes:
    """The sizes of all parts; `inactive` and `idle` in seconds, `big` in bytes."""

    files: int
    inactive: float
    idle: float
    entries: int
    big: int


def table(runs: Runs, contenders: list[Contender], rounds: int, sizes: ScaleSizes, parts: Sequence[str]) -> str:
    scale = _Scale(runs, sizes)
    daemons = [contender for contender in contenders if contender.follows]
    for number in range(rounds):
        report(f"round {number + 1}")
        for contender in daemons if "files" in parts else ():
            with reported_failures(contender):
                scale.files(contender)
        if "registry" in parts:
            scale.registry(runs)
        for contender in daemons if "big" in parts else ():
            with reported_failures(contender):
                scale.big(contender)
    return scale.sheet.show(f"{sizes.files} files, {sizes.entries} entries, {sizes.big / 1024**3:.1f} GiB")


class _Scale:
    def __init__(self, runs: Runs, sizes: ScaleSizes) -> None:
        self._runs = runs
        self._sizes = sizes
        self._big: beside.Big | None = None
        self.sheet = Sheet(AIMS)

    def files(self, contender: Contender) -> None:
        sizes, note = self._sizes, self._noter(contender.name)
        _, single = crowd.open_files(contender, self._runs, 1, LINES, 0.0)
        _note_delays(note, "one, open", single.delays)
        note("one, open: memory MB", single.idle.memory_mb, ".0f")
        job, many = crowd.open_files(contender, self._runs, sizes.files, LINES, sizes.idle)
        note("catch-up: s", many.start.seconds, ".1f")
        note("catch-up: CPU s", many.start.cpu_seconds, ".1f")
        _note_crowd(note, "many, open", many)
        if not contender.closes:
            return
        few_job, _ = crowd.open_files(contender, self._runs, crowd.APPENDS, LINES, 0.0)
        few = crowd.closed_files(contender, few_job, sizes.inactive, 0.0)
        _note_delays(note, "few, closed", few.delays)
        many = crowd.closed_files(contender, job, sizes.inactive, sizes.idle)
        note("start with known files: CPU s", many.start.cpu_seconds, ".1f")
        _note_crowd(note, "many, closed", many)

    def registry(self, runs: Runs) -> None:
        note = self._noter("shipper")
        for count, name in ((FEW_ENTRIES, "registry of 10"), (self._sizes.entries, "registry")):
            directory = runs.fresh(f"registry-{count}")
            positions.write_registry(directory, count)
            loading = positions.load(directory)
            changing = positions.change(directory)
            note(f"{name}: CPU s to open", loading.open_seconds, ".2f")
            note(f"{name}: CPU s to read", loading.read_seconds, ".2f")
            note(f"{name}: memory MB", loading.memory_mb, ".0f")
            note(f"{name}: ms to save one", changing.seconds * 1000, ".2f")
            note(f"{name}: CPU us to save one", changing.cpu_seconds * 1e6, ".0f")
            note(f"{name}: max s to save one", changing.maximum, ".2f")
            note(f"{name}: peak MB", changing.peak_mb, ".0f")

    def big(self, contender: Contender) -> None:
        if self._big is None:
            self._big = beside.write_big(self._runs.directory / "beside-big", self._sizes.big)
        note = self._noter(contender.name)
        _note_delays(note, "alone", beside.measure(contender, self._runs, None, 1, ALONE))
        _note_delays(note, "with big file", beside.measure(contender, self._runs, self._big, APART, 0.0))
        _note_delays(note, "with big file, same partition", beside.measure(contender, self._runs, self._big, 1, 0.0))

    def _noter(self, contender: str) -> "_Note":
        return _Note(self.sheet, contender)


@dataclass(frozen=True, slots=True)
class _Note:
    """Adds a figure to the sheet, and reports it immediately, because a run takes many minutes."""

    sheet: Sheet
    contender: str

    def __call__(self, row: str, value: float, form: str) -> None:
        report(f"{self.contender}, {row}: {value:{form}}")
        self.sheet.add(row, self.contender, value, form)


def _note_crowd(note: _Note, name: str, figures: crowd.Crowd) -> None:
    note(f"{name}: % of a core", figures.idle.core * 100, ".2f")
    note(f"{name}: memory MB", figures.idle.memory_mb, ".0f")
    note(f"{name}: threads", figures.idle.threads, ".0f")
    _note_delays(note, name, figures.delays)


def _note_delays(note: _Note, name: str, delays: Delays) -> None:
    note(f"{name}: p50 ms", delays.p50 * 1000, ".1f")
    note(f"{name}: p99 ms", delays.p99 * 1000, ".1f")
    note(f"{name}: max ms", delays.maximum * 1000, ".1f")
