"""Make the command line of journalctl."""

import glob
import os
from collections.abc import Iterator, Sequence

from log_shipper.shipper.inputs.journald.options import SYSTEM_JOURNAL, JournaldConfig

SINCE = "@"  # before the seconds since 1970 at which to begin; no cursor begins like this
FIRST = "^"  # before the cursor of the first entry, while it is not acknowledged


def command(
    config: JournaldConfig, path: str, start: str, *, files: Sequence[str] = (), follow: bool = False
) -> list[str]:
    """Return the command. `start`: the cursor of the first entry, a time ("@1719834246.8"), or empty for the oldest
    entry. `files`: those of the path to read, none for all. It asks for fields of any size (`--all`: longer ones are
    null beyond 4 KiB), and for the entries of all boots."""
    line = [config.program, "--output=json", "--no-pager", "--all", "--no-tail", "--boot=all"]
    if follow:
        line.append("--follow")
    if config.merge or files or path != SYSTEM_JOURNAL:
        line.append("--merge")  # also because --follow means --boot=0 to some releases, whatever --boot says
    if files:
        line += (f"--file={glob.escape(file)}" for file in files)
    elif path != SYSTEM_JOURNAL:
        line.append(f"--directory={path}" if os.path.isdir(config.chroot + path) else f"--file={path}")
    if start.startswith(SINCE):
        line.append(f"--since={start}")
    elif start:
        line.append(f"--cursor={start.removeprefix(FIRST)}")
    line += (f"--unit={unit}" for unit in config.units)
    line += (f"--identifier={identifier}" for identifier in config.syslog_identifiers)
    return [*line, *_matches(config)]


def _matches(config: JournaldConfig) -> Iterator[str]:
    for number, group in enumerate(config.matches):
        if number:
            yield "+"
        yield from (f"{name}={value}" for name, value in group)
