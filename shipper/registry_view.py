"""`shipper registry list`: what the registry holds, for people and for programs. Reads only, also beside a daemon."""

import os
import time
from dataclasses import asdict
from pathlib import Path

import orjson

from registry.load import read
from registry.state import FileState
from shipper.output.encode import readable_path

HEADER = ("POSITION", "SIZE", "BEHIND", "AGE", "FILE ID", "PATH")


def show_registry(directory: Path, *, as_json: bool) -> None:
    """Raises RegistryError, OSError."""
    states = sorted(read(directory).values(), key=lambda state: (state.path, state.updated))
    if as_json:
        for state in states:
            members = asdict(state) | {"path": readable_path(state.path), "behind": _behind(state)}
            print(orjson.dumps(members).decode())  # noqa: T201
        return
    rows = [HEADER, *(_row(state) for state in states)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())  # noqa: T201
    if not states:
        print(f"no files: {directory} is empty or does not exist")  # noqa: T201


def _row(state: FileState) -> tuple[str, ...]:
    path = readable_path(state.path) + (f" ({state.ended})" if state.ended else "")
    age = f"{max(time.time() - state.updated, 0):.0f}s"
    return (str(state.position), str(_size(state)), str(_behind(state)), age, state.id, path)


def _size(state: FileState) -> int:
    """Its size now where the path is still this file, else the size that was seen last."""
    try:
        status = os.stat(state.path)
    except OSError:
        return state.size_seen
    return status.st_size if (status.st_dev, status.st_ino) == (state.device, state.inode) else state.size_seen


def _behind(state: FileState) -> int:
    return 0 if state.ended else max(_size(state) - state.position, 0)
