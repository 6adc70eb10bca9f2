"""Implement `shipper registry list` and `show`: print the registry, for people and for programs. They only read, even
while an agent runs."""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import orjson

from log_shipper.registry.load import read
from log_shipper.registry.state import FileState
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.formats.record import readable_path
from log_shipper.shipper.inputs.files.identity.opened_file import opened_plain

HEADER = ("POSITION", "SIZE", "BEHIND", "AGE", "FILE ID", "PATH")
UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def list_registry(directory: Path, *, as_json: bool) -> None:
    """Print one line per entry. Raises RegistryError, OSError."""
    states = in_order(read(directory).values())
    if as_json:
        print_json(states)
        return
    rows = [HEADER, *(_row(state) for state in states)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())  # noqa: T201
    if not states:
        unused = f"no files: the shipper has not run yet ({directory} is missing)"
        print(f"no files in {directory}" if directory.exists() else unused)  # noqa: T201


def show_entry(directory: Path, name: str, *, as_json: bool) -> None:
    """Print the entry with this file id, or all entries of this path, or of the only path that ends like this. Raises
    StartError, RegistryError, OSError."""
    states = entries_of(read(directory), name, by_end=True)
    if as_json:
        print_json(states)
        return
    print("\n\n".join(describe(state) for state in states))  # noqa: T201


def in_order(states: Iterable[FileState]) -> list[FileState]:
    return sorted(states, key=lambda state: (state.path, state.updated))


def entries_of(states: dict[str, FileState], name: str, *, by_end: bool = False) -> list[FileState]:
    """Return the entry with this file id, or all entries of this path, which may be relative or a link; with `by_end`,
    also those of the only path that ends like this. Raises StartError if there is none."""
    if name in states:
        return [states[name]]
    paths = {name, os.path.abspath(name), os.path.realpath(name)}
    ends = {state.path for state in states.values() if by_end and state.path.endswith(f"/{name}")}
    if ends and not paths & {state.path for state in states.values()}:
        if len(ends) > 1:
            listed = ", ".join(visible(readable_path(path)) for path in sorted(ends))
            raise StartError(
                f"{visible(readable_path(name))}: several paths end like this: {listed}; give one of them in full"
            )
        paths = ends
    matching = in_order(state for state in states.values() if state.path in paths)
    if not matching:
        raise StartError(
            f"{visible(readable_path(name))}: no registry entry with this path or file id; list all entries with "
            "`shipper registry list`"
        )
    return matching


def print_json(states: Sequence[FileState]) -> None:
    for state in states:
        members = asdict(state) | {
            "path": readable_path(state.path),
            "key": readable_path(state.key),
            "size": size_now(state),
            "behind": behind(state),
        }
        print(visible(orjson.dumps(members).decode()))  # noqa: T201


def _row(state: FileState) -> tuple[str, ...]:
    path = visible(readable_path(state.path)) + (f" ({state.ended})" if state.ended else "")
    return (str(state.position), str(size_now(state)), str(behind(state)), age(state), state.id, path)


def size_now(state: FileState) -> int:
    """Return the file's current size if the path is still this file, else the last known one; of a .gz, the
    decompressed bytes read so far, which cannot be derived from the file's size."""
    try:
        status = os.stat(state.path)
    except OSError:
        return state.size_seen
    if (status.st_dev, status.st_ino) != (state.device, state.inode) or is_zipped(state):
        return state.size_seen
    if status.st_size <= state.position:
        return status.st_size
    with opened_plain(state.path) as file:  # padding is not content, so it does not count as behind
        return status.st_size if file is None else max(file.size, state.position)


def is_zipped(state: FileState) -> bool:
    return state.compressed > 0 or state.path.endswith(".gz")


def behind(state: FileState) -> int:
    return 0 if state.ended else max(size_now(state) - state.position, 0)


def age(state: FileState) -> str:
    return duration(time.time() - state.updated)


def duration(seconds: float) -> str:
    """Return a duration in its two largest units: 3d4h, 5m, 0s."""
    left = max(int(seconds), 0)
    words = []
    for size, unit in UNITS:
        if left >= size:
            words.append(f"{left // size}{unit}")
            left %= size
        elif words:
            break
    return "".join(words[:2]) or "0s"


def describe(state: FileState) -> str:
    """Return the entry as text."""
    lines = [
        ("file id", state.id),
        ("position", f"{state.position:,} of {size_now(state):,} bytes: {_progress(state)}"),
        ("device, inode", f"{state.device}, {state.inode}: {_place(state)}"),
        ("known by", visible(readable_path(state.key))),
        ("input", visible(state.input)),
        ("updated", f"{_moment(state.updated)}, {age(state)} ago"),
        ("ended", _ending(state)),
        ("kept", _keeping(state)),
        ("cuts", _cuts(state)),
        ("continues in", f"file id {state.continues_in}, with the last message" if state.continues_in else ""),
        ("compressed", f"{state.compressed:,} bytes, read to the end of their content" if state.compressed else ""),
        ("confirmed by", _confirmation(state)),
    ]
    return "\n".join([visible(readable_path(state.path)), *(f"  {name:<14}{words}" for name, words in lines if words)])


def _progress(state: FileState) -> str:
    if state.ended:
        return "reading has ended"
    left = behind(state)
    return f"{left:,} not acknowledged yet" if left else "all acknowledged"


def _place(state: FileState) -> str:
    try:
        status = os.stat(state.path)
    except FileNotFoundError:
        return "no file at this path now"
    except OSError as error:
        return f"cannot access the path: {error.strerror}"
    if (status.st_dev, status.st_ino) == (state.device, state.inode):
        return "the file at this path now"
    return f"another file is at this path now (device {status.st_dev}, inode {status.st_ino})"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _ending(state: FileState) -> str:
    if state.ended is None:
        return ""
    return f"{state.ended}: another file has its path or inode now; kept to recognise a copy or a .gz of it"


def _keeping(state: FileState) -> str:
    if state.ttl < 0:
        return "as long as the file exists"
    left = state.updated + state.ttl - time.time()
    when = f"in {duration(left)}" if left > 0 else "at the next clean-up"
    return f"until {_moment(state.updated + state.ttl)} (ttl {duration(state.ttl)}): removed {when} at the earliest"


def _cuts(state: FileState) -> str:
    if not state.cuts:
        return ""
    places = ", ".join(f"{cut:,}" for cut in state.cuts)
    return f"{places}: messages ended there by a timeout or --once; later readings end them there too"


def _confirmation(state: FileState) -> str:
    length, digest = state.fingerprint
    parts = [f"the first {length:,} bytes ({digest})"] if length else []
    if state.tail_hash:
        parts.append(f"the {min(state.position, 256)} bytes before the position ({state.tail_hash})")
    if state.proof:
        parts.append(f"a hash of all {state.position:,} bytes before it")
    return ", ".join(parts)
