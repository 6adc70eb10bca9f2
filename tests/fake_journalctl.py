"""A small journalctl: reads journals that are directories of files with one entry a line, in the form of `-o json`.

Each file has a header as the real ones.

It knows the options that the shipper gives, and is held to the contract of the real one (contract/test_journalctl).
`installed` writes it as a program, `Journal` writes entries, and `Reader` is what the program does, also for files that
are in memory (model/journal_host).
"""

import json
import os
import struct
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, cmp_to_key
from pathlib import Path
from typing import Any, Protocol

SEQUENCE = "0123456789abcdef0123456789abcdef"
FIRST_SECOND = 1_763_000_000
BOOT = "b0070000000000000000000000000001"
HEADER = struct.Struct("<8s8xB55x16sQQ56xQ")
ARCHIVED = 2

Entry = dict[str, Any]


def installed(directory: Path) -> Path:
    """Write the program into the directory."""
    program = directory / "journalctl"
    program.write_text(f"#!{sys.executable} -SE\n{Path(__file__).read_text()}\nmain(sys.argv[1:])\n")
    program.chmod(0o755)
    return program


def header(sequence: str, last: int, state: int = 0) -> bytes:
    return HEADER.pack(b"LPKSHHRH", state, bytes.fromhex(sequence), HEADER.size, 0, last)


def make_entry(sequence: str, boot: str, number: int, second: float, **fields: Any) -> Entry:
    """Return an entry, written so many seconds after the first."""
    moment = round((FIRST_SECOND + second) * 1e6)
    uptime = round(second * 1e6)
    return {
        "__CURSOR": f"s={sequence};i={number:x};b={boot};m={uptime:x};t={moment:x};x={number:x}",
        "__REALTIME_TIMESTAMP": str(moment),
        "__MONOTONIC_TIMESTAMP": str(uptime),
        "_BOOT_ID": boot,
        **fields,
    }


class Journal:
    """What one host writes: entries are numbered from 1, and a second apart, unless `second` is set before. A rotation
    begins another file."""

    def __init__(self, directory: Path, name: str = "system", sequence: str = SEQUENCE) -> None:
        self.directory = directory
        self.sequence, self.boot = sequence, BOOT
        self.number = 0
        self.second: float | None = None
        self._name = name
        self._cursors: dict[int, str] = {}
        directory.mkdir(parents=True, exist_ok=True)
        self._begin()

    @property
    def file(self) -> Path:
        return self.directory / f"{self._name}.journal"

    def _begin(self) -> None:
        self._first = self.number + 1
        self.file.write_bytes(header(self.sequence, 0))

    def cursor(self, number: int) -> str:
        return self._cursors[number]

    def log(self, *messages: Any, **fields: Any) -> None:
        for message in messages:
            self.number += 1
            second = self.number if self.second is None else self.second
            entry = make_entry(self.sequence, self.boot, self.number, second, MESSAGE=message, **fields)
            self._cursors[self.number] = entry["__CURSOR"]
            line = json.dumps({name: value for name, value in entry.items() if value != "absent"}) + "\n"
            with self.file.open("r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(line.encode())
                file.seek(0)
                file.write(header(self.sequence, self.number))

    def rotate(self) -> None:
        with self.file.open("r+b") as file:
            file.write(header(self.sequence, self.number, ARCHIVED))
        self.file.rename(self.directory / f"{self._name}@{self.sequence}-{self._first:016x}.journal")
        self._begin()

    def vacuum(self) -> None:
        """Delete the files that were rotated."""
        for path in self.directory.glob(f"{self._name}@*"):
            path.unlink()

    def read_lines(self) -> list[bytes]:
        return [
            line for path in sorted(self.directory.iterdir()) for line in path.read_bytes()[HEADER.size :].splitlines()
        ]


class OpenFile(Protocol):
    def entries(self) -> list[Entry]: ...


class Disk(Protocol):
    def names(self, directory: str) -> list[str]:
        """Return the paths of a directory; of a file, itself. Raises FileNotFoundError."""

    def open(self, path: str) -> OpenFile:
        """Open a journal file, or raise FileNotFoundError."""

    def has(self, path: str, file: OpenFile) -> bool:
        """Return True if the file is still the one at that path."""


class _RealFile:
    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDONLY)

    def entries(self) -> list[Entry]:
        content = os.pread(self.fd, os.fstat(self.fd).st_size, HEADER.size)
        return [json.loads(line) for line in content.rpartition(b"\n")[0].splitlines()]


class _RealDisk:
    def names(self, directory: str) -> list[str]:
        if os.path.isfile(directory):
            return [directory]
        return [os.path.join(directory, name) for name in os.listdir(directory)]

    def open(self, path: str) -> _RealFile:
        return _RealFile(path)

    def has(self, path: str, file: OpenFile) -> bool:
        assert isinstance(file, _RealFile)
        try:
            return os.path.samestat(os.stat(path), os.fstat(file.fd))
        except FileNotFoundError:
            return False


class Refused(Exception):
    """It ends with code 1, and these words."""


class Reader:
    """Reads as the one of systemd 252: of several files the entry that is next by time, or by number within a sequence,
    and none that is before one that was given; with --follow and without --merge only the last boot. A pattern of
    --unit stands for the first unit that matches when it is started. Files that were named are opened once; those of a
    directory are looked for again and again. A file that was renamed or deleted is not read any more."""

    def __init__(self, arguments: list[str], disk: Disk) -> None:
        """Parse the arguments, or raise Refused."""
        pairs = [argument.partition("=")[::2] for argument in arguments if argument.startswith("--")]
        self.follows = ("--follow", "") in pairs
        self._options = dict(pairs)
        self._matches = [argument for argument in arguments if not argument.startswith("--")]
        self._disk = disk
        self._all_boots = not self.follows or ("--merge", "") in pairs
        self._files: dict[str, OpenFile] = {}
        self._read: dict[OpenFile, int] = {}  # how many entries of a file are behind
        self._directory = self._options.get("--directory", "")
        self._location: Entry | None = None
        named = [value.replace("[*]", "*").replace("[?]", "?") for name, value in pairs if name == "--file"]
        try:
            for path in named or disk.names(self._directory):
                self._files[path] = disk.open(path)
        except FileNotFoundError as error:
            raise Refused(f"Failed to open {named or self._directory}: No such file or directory") from error
        self._unit = self._options.get("--unit")
        if self._unit is not None and "*" in self._unit:
            units = [entry.get("_SYSTEMD_UNIT", "") for file in self._files.values() for entry in file.entries()]
            self._unit = next((unit for unit in units if fnmatchcase(unit, self._unit)), None)
            if self._unit is None:
                raise Refused("Failed to add filter for units: No data available")

    def _last_boot(self) -> str:
        entries = [entry for file in self._files.values() for entry in file.entries()]
        return str(max(entries, key=cmp_to_key(_compared))["_BOOT_ID"]) if entries else ""

    def poll(self) -> Iterator[Entry]:
        """Yield the entries that it gives now. Raises Refused where it cannot give one."""
        self._look()
        while (entry := self._next()) is not None:
            self._location = entry
            if self._is_wanted(entry):
                if "DAMAGED" in entry:
                    raise Refused("Invalid field.")
                yield entry

    def _look(self) -> None:
        self._files = {path: file for path, file in self._files.items() if self._disk.has(path, file)}
        if self._directory:
            for path in self._disk.names(self._directory):
                if path not in self._files:
                    self._files[path] = self._disk.open(path)

    def _next(self) -> Entry | None:
        candidates = []
        for file in self._files.values():
            entries, index = file.entries(), self._read.get(file, 0)
            while index < len(entries) and self._is_behind(entries[index]):
                index += 1
            self._read[file] = index
            candidates += entries[index : index + 1]
        return min(candidates, key=cmp_to_key(_compared), default=None)

    def _is_behind(self, entry: Entry) -> bool:
        if self._location is not None:
            return _compared(entry, self._location) <= 0
        if cursor := self._options.get("--cursor"):
            return _before(entry, cursor)
        return float(entry["__REALTIME_TIMESTAMP"]) < float(self._options.get("--since", "@0")[1:]) * 1e6

    def _is_wanted(self, entry: Entry) -> bool:
        options = self._options
        if not self._all_boots and entry["_BOOT_ID"] != self._last_boot():
            return False
        if self._unit is not None and entry.get("_SYSTEMD_UNIT") != self._unit:
            return False
        if "--identifier" in options and entry.get("SYSLOG_IDENTIFIER") != options["--identifier"]:
            return False
        groups: list[dict[str, set[str]]] = [{}]
        for match in self._matches:
            if match == "+":
                groups.append({})
            else:
                name, _, value = match.partition("=")
                groups[-1].setdefault(name, set()).add(value)
        return any(all(entry.get(name) in values for name, values in group.items()) for group in groups)


@cache
def _parts(cursor: str) -> dict[str, str]:
    return dict(part.split("=") for part in cursor.split(";"))


def _compared(one: Entry, other: Entry) -> int:
    """Return a negative number if the first is before the other, 0 if it is the same."""
    parts, others = _parts(one["__CURSOR"]), _parts(other["__CURSOR"])
    names = "i" if parts["s"] == others["s"] else ("m" if parts["b"] == others["b"] else "t"), "x"
    for name in names:
        if difference := int(parts[name], 16) - int(others[name], 16):
            return difference
    return 0


def _before(entry: Entry, cursor: str) -> bool:
    """Return True if the entry is before the place of a cursor, which may be incomplete."""
    parts, place = _parts(entry["__CURSOR"]), _parts(cursor)
    if parts["s"] == place.get("s"):
        return int(parts["i"], 16) < int(place["i"], 16)
    name = "m" if parts["b"] == place.get("b") and "m" in place else "t"
    return int(parts[name], 16) < int(place[name], 16)


def main(arguments: list[str]) -> None:
    try:
        reader = Reader(arguments, _RealDisk())
        while True:
            for entry in reader.poll():
                sys.stdout.write(json.dumps(entry) + "\n")
                sys.stdout.flush()
            if not reader.follows:
                return
            time.sleep(0.005)
    except Refused as error:
        sys.exit(str(error))
