"""Filebeat's registry on disk, which is only read.

In its data path, three generations of it (elastic/beats, libbeat/statestore/backend/memlog/doc.go):

    registry/filebeat/meta.json       {"version":"1"}: 7.9 and later
    registry/filebeat/<number>.json   the checkpoint: an array of entries, the key in "_key"; the largest number counts
    registry/filebeat/log.json        what changed since: a line {"op":"set","id":N}, a line {"k":KEY,"v":ENTRY}
    registry/filebeat/data.json       the array of states of 7.0 to 7.8 (meta.json has version "0")
    registry                          the same array, in a file of that name: before 7.0

Operations up to the checkpoint's number are in it already; one whose number is not the next, or that cannot be read,
ends the log (Filebeat does not fsync it). The content of these files is not trusted: what does not have Filebeat's
format is reported, and is not a position.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.positions.heads import PositionRefused, opened

REMOVED = 0  # an entry's ttl: removed, and not cleaned up yet
UNUSED = -2  # ttl of a state of the log input that no input has used since Filebeat started


@dataclass(frozen=True, slots=True)
class FilebeatPosition:
    """Filebeat's position in one file. `identity`: how it identifies the file: native, fingerprint, path,
    inode_marker."""

    key: str
    source: str  # the path
    offset: int
    identity: str
    value: str  # of the fingerprint, or the path
    inode: int | None = None
    device: int | None = None
    unused: bool = False


@dataclass(frozen=True, slots=True)
class FilebeatRegistry:
    place: Path  # the directory, or the single file
    entries: dict[str, Any]
    damage: str = ""  # what could not be read


def find(directory: Path) -> Path:
    """Return the registry in a data path, or `directory` itself if it is the registry. Raises StartError."""
    for place in (directory / "registry" / "filebeat", directory / "filebeat", directory):
        if any((place / name).is_file() for name in ("log.json", "data.json")) or _numbers(place):
            return place
    for place in (directory / "registry", directory):
        if place.is_file():
            return place
    raise StartError(
        f"{directory}: no Filebeat registry found; pass Filebeat's path.data (often /var/lib/filebeat), or the "
        "directory registry/filebeat with log.json in it"
    )


def read_registry(place: Path) -> FilebeatRegistry:
    """Return the entries of a registry. Raises StartError, OSError."""
    if place.is_file():
        return FilebeatRegistry(place, _array_of_states(place))
    meta = place / "meta.json"
    version = _version(meta) if os.path.lexists(meta) else "1"
    if version == "0":
        return FilebeatRegistry(place, _array_of_states(place / "data.json"))
    if version != "1":
        raise StartError(f"{meta}: version {version} of Filebeat's registry is not supported; nothing was imported")
    entries, number, strays = _checkpoint(place)
    damage = [f"{strays} entries of the checkpoint have no key"] if strays else []
    damage += _replay(place / "log.json", entries, number)
    return FilebeatRegistry(place, entries, "; ".join(damage))


def _version(meta: Path) -> str:
    values = _json(meta)
    if not isinstance(values, dict):
        raise StartError(f"{meta}: not an object with a version; nothing was imported")
    return str(values.get("version"))


def _content(file: Path) -> bytes:
    """Return the content of a regular file; reading another type (a FIFO) could block forever."""
    try:
        with opened(str(file)) as fd, open(fd, "rb", closefd=False) as stream:
            return stream.read()
    except PositionRefused as refusal:
        raise StartError(f"{file}: {refusal}; nothing was imported") from refusal


def _json(file: Path) -> Any:
    try:
        return _parsed(_content(file))
    except ValueError as error:
        raise StartError(
            f"{file}: damaged ({error}); nothing was imported. Start Filebeat once to repair it, stop it, and import "
            "again"
        ) from error


def _parsed(text: bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _array_of_states(file: Path) -> dict[str, Any]:
    states = _json(file)
    if not isinstance(states, list):
        raise StartError(f"{file}: not an array of states; only registries of Filebeat 5.0 and later can be imported")
    return {f"filebeat::logs::{number}": state for number, state in enumerate(states)}


def _checkpoint(directory: Path) -> tuple[dict[str, Any], int, int]:
    """Return the entries, the number of the last operation in them, and the number of entries without a key."""
    numbers = _numbers(directory)
    if not numbers:
        return {}, 0, 0
    file = directory / f"{max(numbers)}.json"
    array = _json(file)
    if not isinstance(array, list):
        raise StartError(f"{file}: not an array of entries; nothing was imported")
    keyed = [entry for entry in array if isinstance(entry, dict) and isinstance(entry.get("_key"), str)]
    return {entry["_key"]: entry for entry in keyed}, max(numbers), len(array) - len(keyed)


def _numbers(directory: Path) -> list[int]:
    return [int(file.stem) for file in directory.glob("*.json") if file.stem.isdecimal()]


def _replay(log: Path, entries: dict[str, Any], number: int) -> list[str]:
    """Apply the log to `entries`. Return what could not be replayed, as messages."""
    if not os.path.lexists(log):
        return []
    lines = [line for line in _content(log).split(b"\n") if line.strip()]
    for index in range(0, len(lines), 2):
        try:
            op, following, change = _operation(lines[index : index + 2])
            key, value = change["k"], None if op == "remove" else change["v"]
        except (ValueError, KeyError, TypeError, AttributeError):
            return [f"{log}: operation {number + 1} cannot be read; changes from there on are unknown"]
        if following <= number:
            continue  # the checkpoint has it
        if following != number + 1:
            return [f"{log}: operation {number + 1} is missing; later changes are unknown"]
        number = following
        if op == "remove":
            entries.pop(key, None)
        else:
            entries[key] = value
    return []


def _operation(lines: list[bytes]) -> tuple[str, int, dict[str, Any]]:
    """Return the kind, number and change of an operation. Raises ValueError, KeyError, TypeError, AttributeError."""
    action, body = map(_parsed, lines)
    op, change = action["op"], {name.lower(): value for name, value in body.items()}
    if op not in ("set", "remove") or not isinstance(change["k"], str):
        raise ValueError("not an operation")
    return op, _whole(action["id"], "id"), change


def position_of(key: str, entry: Any) -> FilebeatPosition:
    """Return the position in an entry. Raises PositionRefused, `harmless` if the entry is not of a file."""
    try:
        if entry.get("ttl") == REMOVED:
            raise PositionRefused("no position", "removed by Filebeat (ttl 0)", harmless=True)
        if key.startswith("filebeat::logs::"):
            position = _of_log_input(key, entry)
        elif key.startswith("filestream::"):
            position = _of_filestream(key, entry)
        else:
            raise PositionRefused("no position", "not the position of a file", harmless=True)
        os.fsencode(position.source)  # a UnicodeError is a ValueError
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        words = f"not in Filebeat's format ({type(error).__name__}: {error})"
        raise PositionRefused("damaged entry", words) from error
    if not position.source.startswith("/") or "\0" in position.source:
        raise PositionRefused("damaged entry", "its source is not an absolute path")
    return position


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or value < 0:  # neither a bool nor a float
        raise ValueError(f"{name} is not an integer of at least 0")
    return value


def _of_log_input(key: str, entry: dict[str, Any]) -> FilebeatPosition:
    system = entry["FileStateOS"]
    inode, device = _whole(system["inode"], "inode"), _whole(system["device"], "device")
    return FilebeatPosition(
        key,
        entry["source"],
        _whole(entry["offset"], "offset"),
        "native",
        "",
        inode,
        device,
        unused=entry.get("ttl") == UNUSED,
    )


def _of_filestream(key: str, entry: dict[str, Any]) -> FilebeatPosition:
    _, _, identity, value = key.split("::", 3)
    source = entry["meta"]["source"]
    cursor = entry.get("cursor") or {}
    offset = _whole(cursor.get("offset", 0), "offset")  # no cursor: the file was found, and nothing is acknowledged yet
    match identity:
        case "native":
            inode, device = value.split("-")[:2]
            return FilebeatPosition(key, source, offset, identity, value, int(inode), int(device))
        case "inode_marker":
            return FilebeatPosition(key, source, offset, identity, value, int(value.split("-")[0]))
        case "fingerprint" | "growing_fingerprint":
            # A container's file may have one per stream: the hash, "-", and the stream's name.
            return FilebeatPosition(key, source, offset, "fingerprint", value.split("-")[0])
        case "path":
            return FilebeatPosition(key, source, offset, identity, value)
    raise PositionRefused("unknown identity", f"file identity {identity} is not supported")
