"""What a power cut leaves of files on a local file system, and the fsync before it.

A file system may keep the name of a file and lose its content: for some 30 s after it was written, unless it is
fsynced, a file may be found empty, filled with zeros or cut short after a power cut. So a batch is made durable step by
step, each step before the next one begins:

    checkpoint: offsets/N │ data files │ commit of each table │ data file and commit of the marks
          sync_files        sync_files       sync_files                  the same

A piece that a cut has torn is then never one that anything else relies on: it is the newest of its kind, and it is
deleted at the next start. What it said is done again: Spark plans a batch without `offsets/N` anew, runs one without
`commits/N` again, and rows that lack their commit, or the marks after it, are written again. Newer checkpoints of a log
only save time. A torn file that is not the newest was torn by something else, and stays an error.

Every writer of these files creates them under another name and renames them, so none of a running process looks torn.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from log_shipper.runtime.disk import fsync_directory
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.locations import Location

_COMMIT = re.compile(r"(\d{20})\.json")
_LOG_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


def sync_files(directory: Path, names: Iterable[str]) -> None:
    """Make these files survive a power cut, with the names of all directories on their way. Raises OSError."""
    directories = {directory}
    for name in names:
        path = directory / name
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        directories.update(parent for parent in path.parents if parent.is_relative_to(directory))
    for parent in sorted(directories, reverse=True):  # a directory before the one that has its name
        fsync_directory(parent)


def sync_commits(path: str, after: int) -> int:
    """Make the commits of a table behind this version survive a power cut, with the files that they add; those that
    Delta's Java wrote, which does not do it. Returns the newest version. Does nothing for another store. Raises
    SinkError."""
    if (table := Location(path).directory) is None:
        return after
    try:
        while (commit := table / "_delta_log" / f"{after + 1:020}.json").exists():
            actions = map(json.loads, commit.read_text().splitlines())
            added = [unquote(action["add"]["path"]) for action in actions if "add" in action]
            sync_files(table, (name for name in added if (table / name).exists()))
            sync_files(table, [f"_delta_log/{commit.name}"])
            after += 1
    except OSError as error:
        raise SinkError(f"cannot fsync the table {path}: {error}") from error
    return after


def mend_table(path: str, note: Callable[[str], None]) -> None:
    """Delete what a power cut has torn of the log of a table, if it is on a local file system. `note`: logs a sentence.
    Raises SinkError."""
    _mend(path, drop_torn_log, note)


def mend_checkpoint(path: str, note: Callable[[str], None]) -> None:
    """Delete what a power cut has torn of the checkpoint of the sink's query. Raises SinkError."""
    _mend(path, drop_torn_checkpoint, note)


def _mend(path: str, drop: Callable[[Path], Iterator[str]], note: Callable[[str], None]) -> None:
    if (directory := Location(path).directory) is None:
        return
    try:
        for name in drop(directory):
            note(f"deleted a file torn by a power cut: {name}. Its work is repeated")
    except OSError as error:
        raise SinkError(f"cannot check {path} for damage by a power cut: {error}") from error


def drop_torn_log(table: Path) -> Iterator[str]:
    """Delete what a power cut has torn of the log of a table, and yield the name of each file. Raises OSError."""
    for path in list(_torn_log(table)):
        yield from _drop(path.parent, path.name)


def damage(path: str) -> str:
    """Return which file of the log of a table is damaged, and what to do about it; an empty text where none is, as far
    as this machine can look. Reads the whole log."""
    if (table := Location(path).directory) is None:
        return ""
    try:
        if torn := next(_torn_log(table), None):
            return (
                f"a power cut has torn its file {torn.relative_to(table)}. Start spark-sink run or maintain, which "
                "deletes the file; nothing is lost"
            )
        files = (table / "_delta_log" / name for name in sorted(os.listdir(table / "_delta_log")))
        damaged = next((file for file in files if not _is_whole(file)), None)
    except OSError:
        return ""
    if damaged is None:
        return ""
    return f"its file {damaged.relative_to(table)} is damaged, and other files depend on it. Restore it from a backup"


def _torn_log(table: Path) -> Iterator[Path]:
    """Yield what a power cut has torn of the log of a table. Raises OSError."""
    log = table / "_delta_log"
    names = os.listdir(log) if log.is_dir() else []
    commits = {int(match[1]) for name in names if (match := _COMMIT.fullmatch(name))}
    while commits and not _is_commit(log / f"{max(commits):020}.json"):
        yield log / f"{max(commits):020}.json"
        yield log / f"{max(commits):020}.crc"
        commits.remove(max(commits))
    if (log / "_last_checkpoint").exists() and not _is_json(log / "_last_checkpoint"):
        yield log / "_last_checkpoint"
    yield from _torn_log_checkpoint(log, names, commits)


def drop_torn_checkpoint(checkpoint: Path) -> Iterator[str]:
    """Delete the torn files of a query's checkpoint, and yield their names. Raises OSError."""
    offsets, commits = _numbers(checkpoint / "offsets"), _numbers(checkpoint / "commits")
    if offsets and max(offsets) not in commits and not _is_offsets(checkpoint / "offsets" / str(max(offsets))):
        yield from _drop(checkpoint / "offsets", str(max(offsets)))
        offsets.remove(max(offsets))
    # It is durable before the offsets of the batch after the next are written.
    last = max(commits, default=-2)
    if max(offsets, default=0) - last < 2 and not _is_versioned(checkpoint / "commits" / str(last)):
        yield from _drop(checkpoint / "commits", str(last))
        commits.remove(last)
    metadata = checkpoint / "metadata"
    if metadata.exists() and not _is_json(metadata) and not commits and offsets <= {0}:  # the first batch has not begun
        yield from _drop(checkpoint / "offsets", *map(str, offsets))
        yield from _drop(checkpoint, "metadata")


def _torn_log_checkpoint(log: Path, names: Iterable[str], commits: set[int]) -> Iterator[Path]:
    """Yield the newest checkpoint of the log where it is torn, if the commits that it stands for are there."""
    checkpoints = sorted(int(match[1]) for name in names if (match := _LOG_CHECKPOINT.fullmatch(name)))
    if not checkpoints or _is_parquet(log / f"{checkpoints[-1]:020}.checkpoint.parquet"):
        return
    before = checkpoints[-2] if len(checkpoints) > 1 else -1
    if commits.issuperset(range(before + 1, checkpoints[-1] + 1)):
        yield log / f"{checkpoints[-1]:020}.checkpoint.parquet"
        yield log / "_last_checkpoint"


def _drop(directory: Path, *names: str) -> Iterator[str]:
    """Delete files, and the checksums that Hadoop keeps beside them, which would not fit what is written next."""
    for name in names:
        path = directory / name
        if path.exists():
            path.unlink()
            yield str(path)
        (directory / f".{name}.crc").unlink(missing_ok=True)
    fsync_directory(directory)


def _numbers(directory: Path) -> set[int]:
    return {int(name) for name in os.listdir(directory) if name.isdigit()} if directory.is_dir() else set()


def _is_commit(path: Path) -> bool:
    """Return False, too, for a compaction whose files are torn: it has no rows that others do not have."""
    return _holds(path, lambda text: all(_is_intact(path.parents[1], json.loads(line)) for line in text.splitlines()))


def _is_whole(file: Path) -> bool:
    """Return False for a file of a log that no one can read. Of a commit that is old, the data files may be deleted."""
    if _COMMIT.fullmatch(file.name):
        return _holds(file, lambda text: all(isinstance(json.loads(line), dict) for line in text.splitlines()))
    return file.suffix != ".parquet" or _is_parquet(file)


def _is_intact(table: Path, action: object) -> bool:
    match action:
        case {"add": {"path": str(path), "size": int(size), "dataChange": False}}:
            file = table / unquote(path)
            return file.is_file() and file.stat().st_size == size and _is_parquet(file)
    return isinstance(action, dict)


def _is_json(path: Path) -> bool:
    return _holds(path, lambda text: isinstance(json.loads(text), dict))


def _is_versioned(path: Path) -> bool:
    """Return True for a file of a query's checkpoint: a version, and JSON on the other lines."""
    return _holds(path, lambda text: text[0] == "v" and bool([json.loads(line) for line in text.splitlines()[1:]]))


def _is_offsets(path: Path) -> bool:
    return _holds(path, lambda text: len(text.splitlines()) > 2) and _is_versioned(path)


def _holds(path: Path, check: Callable[[str], bool]) -> bool:
    with suppress(ValueError):  # of JSON, and of UTF-8
        text = path.read_text()
        return bool(text.strip()) and check(text)
    return False


def _is_parquet(path: Path) -> bool:
    with suppress(pa.ArrowException):
        parquet.read_metadata(path)
        return True
    return False
