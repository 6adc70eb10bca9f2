"""A small journalctl: reads journals that are directories of files with one entry a line, in the form of `-o json`.

It knows the options that the shipper gives, and is held to the contract of the real one (contract/test_journalctl).
`installed` writes it as a program, and `Journal` writes entries.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

SEQUENCE = "0123456789abcdef0123456789abcdef"
FIRST_SECOND = 1_763_000_000
BOOT = "b0070000000000000000000000000001"


def installed(directory: Path) -> Path:
    """Write the program into the directory."""
    program = directory / "journalctl"
    program.write_text(f"#!{sys.executable} -SE\n{Path(__file__).read_text()}\nmain(sys.argv[1:])\n")
    program.chmod(0o755)
    return program


class Journal:
    """Entries are numbered from 1, and a second apart. A rotation begins another file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.sequence, self.boot = SEQUENCE, BOOT
        self.number = 0
        self._files = 1
        directory.mkdir()
        self._file.touch()

    @property
    def _file(self) -> Path:
        return self.directory / f"{self._files:06d}.journal"

    def cursor(self, number: int) -> str:
        return f"s={self.sequence};i={number:x};b={self.boot};m={number:x};t={number:x};x={number:x}"

    def log(self, *messages: Any, **fields: Any) -> None:
        with self._file.open("a") as file:
            for message in messages:
                self.number += 1
                entry = {
                    "__CURSOR": self.cursor(self.number),
                    "__REALTIME_TIMESTAMP": str((FIRST_SECOND + self.number) * 1_000_000),
                    "__MONOTONIC_TIMESTAMP": str(self.number * 1_000_000),
                    "_BOOT_ID": self.boot,
                    "MESSAGE": message,
                    **fields,
                }
                file.write(json.dumps({name: value for name, value in entry.items() if value != "absent"}) + "\n")

    def rotate(self) -> None:
        self._files += 1
        self._file.touch()

    def vacuum(self) -> None:
        """Delete all files but the newest."""
        for path in sorted(self.directory.iterdir())[:-1]:
            path.unlink()


def main(arguments: list[str]) -> None:
    options = dict(argument.partition("=")[::2] for argument in arguments if argument.startswith("--"))
    matches = [argument for argument in arguments if not argument.startswith("--")]
    directory = options.get("--directory") or options["--file"]
    if not os.path.exists(directory):
        sys.exit(f"Failed to open {directory}: No such file or directory")
    first = options.get("--cursor", "")
    since = float(options.get("--since", "@0")[1:]) * 1e6
    given: set[str] = set()
    while True:
        for line in _lines(directory):
            entry = json.loads(line)
            is_wanted = entry["__CURSOR"] not in given and float(entry["__REALTIME_TIMESTAMP"]) >= since
            if is_wanted and _number(entry["__CURSOR"]) >= _number(first) and _matches(entry, options, matches):
                given.add(entry["__CURSOR"])
                if "DAMAGED" in entry:
                    sys.exit("Invalid field.")
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
        if "--follow" not in options:
            return
        time.sleep(0.005)


def _lines(directory: str) -> list[str]:
    is_file = os.path.isfile(directory)
    names = [directory] if is_file else sorted(os.path.join(directory, name) for name in os.listdir(directory))
    lines: list[str] = []
    for name in names:
        try:
            with open(name) as file:
                lines += file.read().rpartition("\n")[0].splitlines()
        except FileNotFoundError:
            pass
    return lines


def _number(cursor: str) -> int:
    return int(dict(part.split("=") for part in cursor.split(";"))["i"], 16) if cursor else 0


def _matches(entry: dict[str, Any], options: dict[str, str], matches: list[str]) -> bool:
    if "--unit" in options and entry.get("_SYSTEMD_UNIT") != options["--unit"]:
        return False
    if "--identifier" in options and entry.get("SYSLOG_IDENTIFIER") != options["--identifier"]:
        return False
    groups: list[dict[str, set[str]]] = [{}]
    for match in matches:
        if match == "+":
            groups.append({})
        else:
            name, _, value = match.partition("=")
            groups[-1].setdefault(name, set()).add(value)
    return any(all(entry.get(name) in values for name, values in group.items()) for group in groups)
