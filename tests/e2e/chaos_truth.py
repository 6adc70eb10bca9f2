"""What the table must contain: every line of every file once, with its place on disk, and nothing more."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from tests.e2e.running import lines_of

EXAMPLES = 5  # of each kind of difference in each file
Line = tuple[int, int, str]  # offset, raw length, text
# A column of the chaos alone: files are distinguished by their inode, which does not change when they are renamed.
INODE = "inode"
COLUMNS = (INODE, "file_id", "offset", "length", "message", "partition", "kafka_offset")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    inode: str
    file_id: str
    offset: int
    length: int
    message: str
    partition: int
    kafka_offset: int

    @property
    def line(self) -> Line:
        return self.offset, self.length, self.message


def on_disk(logs: Path) -> dict[str, tuple[str, list[Line]]]:
    """Name and lines of each file, by inode."""
    return {str(path.stat().st_ino): (path.name, lines_of(path.read_bytes())) for path in sorted(logs.iterdir())}


def in_table(path: Path) -> list[Row]:
    """Read without Java; nothing before the sink has made the table."""
    if not DeltaTable.is_deltatable(str(path)):
        return []
    rows = DeltaTable(str(path)).to_pyarrow_dataset().to_table(columns=list(COLUMNS)).to_pylist()
    return [Row(**row) for row in rows]


def differences(files: Mapping[str, tuple[str, list[Line]]], rows: Iterable[Row]) -> list[str]:
    """Describe the differences, with some examples of each kind; empty if table and files are equal."""
    by_inode: dict[str, list[Row]] = {inode: [] for inode in files}
    for row in rows:
        by_inode.setdefault(row.inode, []).append(row)
    problems = []
    for inode, landed in by_inode.items():
        name, lines = files.get(inode, (f"inode {inode}, which is not a file", []))
        problems += [f"{name}: {text}" for text in _of_file(lines, landed)]
    return problems


def _of_file(lines: list[Line], landed: list[Row]) -> list[str]:
    on_disk, in_table = Counter(lines), Counter(row.line for row in landed)
    differences = _described("missing", on_disk - in_table, [])
    differences += _described("too many", in_table - on_disk, landed)
    if len(ids := sorted({row.file_id for row in landed})) > 1:
        differences.append(f"has {len(ids)} file ids: {', '.join(ids[:EXAMPLES])}")
    return differences


def _described(what: str, lines: Counter[Line], landed: list[Row]) -> list[str]:
    if not lines:
        return []
    examples = []
    for line in sorted(lines)[:EXAMPLES]:
        places = [f"{row.partition}/{row.kafka_offset}" for row in landed if row.line == line]
        examples.append(f"offset {line[0]}, {line[1]} bytes, {line[2][:40]!r} {' '.join(places)}".rstrip())
    return [f"{lines.total()} lines {what}: " + "; ".join(examples)]


def landed_ends(marks: Path) -> dict[int, int]:
    """Return by partition the Kafka offset up to which all has landed according to the marks; without empty ones."""
    if not DeltaTable.is_deltatable(str(marks)):
        return {}
    columns = ["kind", "landing", "partition", "end_offset"]
    rows = DeltaTable(str(marks)).to_pyarrow_dataset().to_table(columns=columns).to_pylist()
    newest = sorted((row["landing"], row["partition"], row["end_offset"]) for row in rows if row["kind"] == "partition")
    return {partition: end for _, partition, end in newest if end}


def rows_of(table: Path) -> int:
    return int(DeltaTable(str(table)).count()) if DeltaTable.is_deltatable(str(table)) else 0
