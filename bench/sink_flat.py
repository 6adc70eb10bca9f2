"""The figures of each minute of the sink's soak test, and whether they stayed flat."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

COLD_MINUTES = 15  # Java compiles and allocates: measured 1.0 GiB after 2 minutes and 1.4 GiB after 15
JAVA_MB = 1536  # the documented requirement
SECONDS_BEHIND = 5.0  # of records at the rate: one or two batches


@dataclass(slots=True)
class TableFiles:
    """The files of a table, by the commits of its log."""

    added: int = 0  # by batches, including files compacted or deleted since
    rows: int = 0
    _dates: dict[str, str] = field(default_factory=dict)

    def add_commit(self, commit: str) -> None:
        for line in commit.splitlines():
            action = json.loads(line)
            if (add := action.get("add")) is not None:
                self._dates[add["path"]] = add["partitionValues"]["date"]
                if add["dataChange"]:  # compacted files have no new rows
                    self.added += 1
                    self.rows += json.loads(add["stats"])["numRecords"]
            elif (remove := action.get("remove")) is not None:
                self._dates.pop(remove["path"], None)

    @property
    def count(self) -> int:
        return len(self._dates)

    @property
    def today(self) -> int:
        """The number of files of the last date."""
        last = max(self._dates.values(), default="")
        return sum(date == last for date in self._dates.values())


@dataclass(frozen=True, slots=True)
class Minute:
    """`lag`: produced records that have not landed. `files_added`: by the minute's batches. At the end of the minute:
    `files_today` and `files` in the table, `log_files` in _delta_log. `rows`: landed since the start."""

    number: int
    batches: int
    p50: float
    maximum: float
    lag: int
    java_mb: float
    python_mb: float
    files_added: int
    files_today: int
    files: int
    log_files: int
    rows: int
    maintained: bool = False  # `maintain` ran in it
    stolen: float = 0.0  # steal time of the virtual machine, as a share

    def __str__(self) -> str:
        maintain = "with maintain, " if self.maintained else ""
        return (
            f"minute {self.number}: {maintain}{self.stolen:.0%} stolen, {self.batches} batches, p50 {self.p50:.2f} s, "
            f"max {self.maximum:.2f} s, lag {self.lag:,}; Java {self.java_mb:.0f} MB, Python {self.python_mb:.0f} "
            f"MB; {self.files_added} files written, {self.files_today} in the last date, {self.files} in the table, "
            f"{self.log_files} in _delta_log; {self.rows:,} rows"
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on growth: the median of the last third is at most `times` that of the first."""

    name: str
    value: Callable[[Minute], float]
    times: float
    form: str


LIMITS = (
    Limit("batch seconds, p50", lambda minute: minute.p50, 1.25, ".2f"),
    Limit("batch seconds, maximum", lambda minute: minute.maximum, 1.5, ".2f"),
    Limit("memory of Java, MB", lambda minute: minute.java_mb, 1.1, ".0f"),
    Limit("memory of Python, MB", lambda minute: minute.python_mb, 1.1, ".0f"),
    # Not per minute: faster batches write more files.
    Limit("files written per batch", lambda minute: minute.files_added / minute.batches, 1.1, ".1f"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    text: str
    flat: bool

    def __str__(self) -> str:
        return f"{'flat' if self.flat else 'NOT FLAT'}: {self.text}"


def findings(minutes: Sequence[Minute], rate: float) -> list[Finding]:
    """Compare the minutes without `maintain`, which slows down a small machine, and runs longer in some thirds than in
    others. Raises RuntimeError if there are too few minutes."""
    warm = [minute for minute in minutes if minute.number > COLD_MINUTES and not minute.maintained]
    third = len(warm) // 3
    if not third:
        raise RuntimeError(
            f"{len(warm)} minutes are too few: at least three are required, except the first {COLD_MINUTES} and those "
            "with maintain"
        )
    first, last = warm[:third], warm[-third:]
    compared = [_compared(limit, first, last) for limit in LIMITS]
    lag = median(minute.lag for minute in last)
    behind = f"lag: {lag:,.0f} records in the last third, {lag / rate:.1f} s at the rate (limit {SECONDS_BEHIND:.0f} s)"
    peak = max(minute.java_mb for minute in minutes)
    memory = f"maximum memory of Java: {peak:.0f} MB (limit {JAVA_MB} MB)"
    return [*compared, Finding(behind, lag <= rate * SECONDS_BEHIND), Finding(memory, peak <= JAVA_MB)]


def _compared(limit: Limit, first: Sequence[Minute], last: Sequence[Minute]) -> Finding:
    before, after = (median(limit.value(minute) for minute in third) for third in (first, last))
    text = f"{limit.name}: {before:{limit.form}} in the first third, {after:{limit.form}} in the last"
    return Finding(f"{text} (limit {limit.times} times)", after <= before * limit.times)
