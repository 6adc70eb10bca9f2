"""Filebeat's registry, as it lies on disk: read only.

In its data path, three generations of it (elastic/beats, libbeat/statestore/backend/memlog/doc.go):

    registry/filebeat/meta.json       {"version":"1"}: 7.9 and later
    registry/filebeat/<number>.json   the checkpoint: an array of entries, the key in "_key"; the largest number counts
    registry/filebeat/log.json        what changed since: a line {"op":"set","id":N}, a line {"k":KEY,"v":ENTRY}
    registry/filebeat/data.json       the array of states of 7.0 to 7.8 (meta.json has version "0")
    registry                          the same array, in a file of that name: before 7.0

Operations up to the checkpoint's number are in it already; one whose number is not the next, or that cannot be read,
ends the log (Filebeat does not fsync it).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shipper.errors import StartError

Entry = dict[str, Any]

REMOVED = 0  # an entry's ttl: forgotten, only not yet cleaned up
UNUSED = -2  # of a state of the log input: no input asked for it since Filebeat started


@dataclass(frozen=True, slots=True)
class Position:
    """Where Filebeat was in one file. `identity` is how it knew the file: native, fingerprint, path, inode_marker."""

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
    entries: dict[str, Entry]
    damage: str = ""  # what of it could not be read, in words


def find(directory: Path) -> Path:
    """The registry in a data path, or `directory` itself if it is the registry. Raises StartError."""
    for place in (directory / "registry" / "filebeat", directory / "filebeat", directory):
        if any((place / name).is_file() for name in ("log.json", "data.json")) or _numbers(place):
            return place
    for place in (directory / "registry", directory):
        if place.is_file():
            return place
    raise StartError(
        f"{directory}: no registry of Filebeat here; give its path.data (often /var/lib/filebeat), or the directory"
        " registry/filebeat in there, in which log.json is"
    )


def read_registry(place: Path) -> FilebeatRegistry:
    """Raises StartError, OSError."""
    if place.is_file():
        return FilebeatRegistry(place, _array_of_states(place))
    meta = place / "meta.json"
    version = str(_json(meta).get("version")) if meta.exists() else "1"
    if version == "0":
        return FilebeatRegistry(place, _array_of_states(place / "data.json"))
    if version != "1":
        raise StartError(f"{meta}: version {version} of Filebeat's registry is not known here; nothing was imported")
    entries, number = _checkpoint(place)
    damage = _replay(place / "log.json", entries, number)
    return FilebeatRegistry(place, entries, damage)


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except ValueError as error:
        raise StartError(
            f"{file}: damaged ({error}); nothing was imported; start Filebeat once, which repairs what it can,"
            " stop it, and import again"
        ) from error


def _array_of_states(file: Path) -> dict[str, Entry]:
    states = _json(file)
    if not isinstance(states, list):
        raise StartError(f"{file}: not an array of states; registries of Filebeat 5.0 and later can be imported")
    entries = [state for state in states if isinstance(state, dict)]
    return {f"filebeat::logs::{number}": entry for number, entry in enumerate(entries)}


def _checkpoint(directory: Path) -> tuple[dict[str, Entry], int]:
    numbers = _numbers(directory)
    if not numbers:
        return {}, 0
    file = directory / f"{max(numbers)}.json"
    array = _json(file)
    if not isinstance(array, list):
        raise StartError(f"{file}: not an array of entries; nothing was imported")
    return {entry["_key"]: entry for entry in array if isinstance(entry, dict) and "_key" in entry}, max(numbers)


def _numbers(directory: Path) -> list[int]:
    return [int(file.stem) for file in directory.glob("*.json") if file.stem.isdecimal()]


def _replay(log: Path, entries: dict[str, Entry], number: int) -> str:
    """Changes `entries`. Returns what could not be replayed, in words."""
    if not log.exists():
        return ""
    lines = [line for line in log.read_bytes().split(b"\n") if line.strip()]
    for at in range(0, len(lines), 2):
        try:
            action = json.loads(lines[at])
            change = {name.lower(): value for name, value in json.loads(lines[at + 1]).items()}
            op, following, key = action["op"], action["id"], change["k"]
            if following <= number:
                continue  # the checkpoint has it
            if following != number + 1:
                return f"{log}: operation {number + 1} is missing; what was changed after it is not known"
            number = following
            if op == "remove":
                entries.pop(key, None)
            else:
                entries[key] = change["v"]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            return f"{log}: operation {number + 1} cannot be read; what was changed from there on is not known"
    return ""


def position_of(key: str, entry: Entry) -> Position | str:
    """Or why there is none, in words."""
    if entry.get("ttl") == REMOVED:
        return "Filebeat had removed it (ttl 0)"
    try:
        if key.startswith("filebeat::logs::"):
            return _of_log_input(key, entry)
        if key.startswith("filestream::"):
            return _of_filestream(key, entry)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"not laid out as Filebeat does it ({type(error).__name__}: {error})"
    return "not the position of a file"


def _of_log_input(key: str, entry: Entry) -> Position:
    system = entry["FileStateOS"]
    return Position(
        key, entry["source"], int(entry["offset"]), "native", "", int(system["inode"]), int(system["device"]),
        unused=entry.get("ttl") == UNUSED,
    )  # fmt: skip


def _of_filestream(key: str, entry: Entry) -> Position | str:
    _, _, identity, value = key.split("::", 3)
    source = entry["meta"]["source"]
    offset = int((entry.get("cursor") or {}).get("offset", 0))  # no cursor: met, and nothing acknowledged yet
    match identity:
        case "native":
            inode, device = value.split("-")[:2]
            return Position(key, source, offset, identity, value, int(inode), int(device))
        case "inode_marker":
            return Position(key, source, offset, identity, value, int(value.split("-")[0]))
        case "fingerprint" | "growing_fingerprint":
            # Of a container's file there can be one for each stream: the hash, "-", and the stream's name.
            return Position(key, source, offset, "fingerprint", value.split("-")[0])
        case "path":
            return Position(key, source, offset, identity, value)
    return f"the file identity {identity} is not known here"
