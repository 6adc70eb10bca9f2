"""Protects files on a local file system from power cuts by fsync, and deletes torn files after one.

A file system may keep the name of a file and lose its content: unless a file is fsynced, it may be empty, filled with
zeros or truncated after a power cut within about 30 s. So a batch is made durable in steps, each before the next one:

    checkpoint: offsets/N │ data files │ commit of each table │ data file and commit of the marks
          sync_files        sync_files       sync_files                  the same

So no other file relies on a torn one: it is the newest of its kind, and the next start deletes it. Its work is
repeated: Spark plans a batch without `offsets/N` again, and retries one without `commits/N`; rows that lack their
commit, or the marks after it, are written again. Checkpoints of a log only save time. A torn file that is not the
newest has another cause, and stays an error.

All writers create these files under a temporary name and rename them, so files of a running process never look torn.
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
    """Fsync these files, and all directories above them up to `directory`. Raises OSError."""
    directories = {directory}
    for name in names:
        path = directory / name
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        directories.update(parent for parent in path.parents if parent.is_relative_to(directory))
    for parent in sorted(directories, reverse=True):  # each directory before its parent
        fsync_directory(parent)


def sync_commits(path: str, after: int) -> int:
    """Fsync the commits of a table after this version, and the files that they add: Delta's Java does not do so.
    Returns the newest version. Does nothing on an object store. Raises SinkError."""
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
    """Delete torn files from the log of a table on a local file system. `note`: logs a message. Raises SinkError."""
    _mend(path, drop_torn_log, note)


def mend_checkpoint(path: str, note: Callable[[str], None]) -> None:
    """Delete torn files from the checkpoint of the sink's query. Raises SinkError."""
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
    """Delete torn files from the log of a table, and yield their names. Raises OSError."""
    for path in list(_torn_log(table)):
        yield from _drop(path.parent, path.name)


def damage(path: str) -> str:
    """Return which file of a table's log is damaged, and what to do; empty if none is, or on an object store. Reads the
    whole log."""
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
    """Yield the torn files of a table's log. Raises OSError."""
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
    # Spark writes the offsets of batch N + 2 only after `commits/N` is durable.
    last = max(commits, default=-2)
    if max(offsets, default=0) - last < 2 and not _is_versioned(checkpoint / "commits" / str(last)):
        yield from _drop(checkpoint / "commits", str(last))
        commits.remove(last)
    metadata = checkpoint / "metadata"
    if metadata.exists() and not _is_json(metadata) and not commits and offsets <= {0}:  # before the first batch
        yield from _drop(checkpoint / "offsets", *map(str, offsets))
        yield from _drop(checkpoint, "metadata")


def _torn_log_checkpoint(log: Path, names: Iterable[str], commits: set[int]) -> Iterator[Path]:
    """Yield the newest checkpoint of the log if it is torn, and the log still has the commits before it."""
    checkpoints = sorted(int(match[1]) for name in names if (match := _LOG_CHECKPOINT.fullmatch(name)))
    if not checkpoints or _is_parquet(log / f"{checkpoints[-1]:020}.checkpoint.parquet"):
        return
    before = checkpoints[-2] if len(checkpoints) > 1 else -1
    if commits.issuperset(range(before + 1, checkpoints[-1] + 1)):
        yield log / f"{checkpoints[-1]:020}.checkpoint.parquet"
        yield log / "_last_checkpoint"


def _drop(directory: Path, *names: str) -> Iterator[str]:
    """Delete files and their Hadoop checksums, which would not match the next content."""
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
    """Return False also for a compaction with torn data files: the replaced files still have its rows."""
    return _holds(path, lambda text: all(_is_intact(path.parents[1], json.loads(line)) for line in text.splitlines()))


def _is_whole(file: Path) -> bool:
    """Return False for an unreadable file of a log. Data files are not checked: those of old commits may be deleted."""
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
    with suppress(ValueError):  # invalid JSON or UTF-8
        text = path.read_text()
        return bool(text.strip()) and check(text)
    return False


def _is_parquet(path: Path) -> bool:
    with suppress(pa.ArrowException):
        parquet.read_metadata(path)
        return True
    return False
