"""Metadata of processes from /proc. Not read by psutil, because the host's /proc may be mounted elsewhere."""

import os
import pwd
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from log_shipper.config.text.patterns import matcher
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.record import timestamp

# A container id as Docker, Kubernetes and Podman write it at the end of a control group name.
CONTAINER_ID = r"[-/]([0-9a-f]{64})(?:\.scope)?$"
TICKS = os.sysconf("SC_CLK_TCK")
_BOOT = re.compile(rb"^btime (\d+)$", re.MULTILINE)
_UID = re.compile(rb"^Uid:\s+(\d+)", re.MULTILINE)


def describe(proc: Path, pid: int, *, environment: bool = False) -> Doc:
    """Return `process`, or nothing if the process does not exist. Unreadable members are omitted."""
    directory = proc / str(pid)
    try:
        # The name is in parentheses and may contain some itself; numbers follow: state, parent, ...
        stat = (directory / "stat").read_bytes()
    except OSError:
        return {}
    name = stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode("utf-8", "replace")
    numbers = stat[stat.rindex(b")") + 2 :].split()
    process: Doc = {"name": name, "pid": pid, "parent": {"pid": int(numbers[1])}}
    with suppress(OSError):
        process["executable"] = os.readlink(directory / "exe")
    with suppress(OSError):
        process["args"] = _texts(directory / "cmdline")
        process["title"] = " ".join(process["args"])
    with suppress(OSError):
        process["start_time"] = timestamp(_boot_time(proc) + int(numbers[19]) / TICKS)
    with suppress(OSError):
        process["owner"] = _owner(directory)
    if environment:
        with suppress(OSError):
            process["env"] = dict(text.split("=", 1) for text in _texts(directory / "environ") if "=" in text)
    return {"process": process}


def container_of(proc: Path, pid: int, find: Callable[[str], str]) -> str:
    """Return the id that `find` finds in the process's control groups, or nothing."""
    try:
        lines = (proc / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((id_ for line in lines if (id_ := find(line.split(":", 2)[-1]))), "")


def last_group(pattern: str = CONTAINER_ID) -> Callable[[str], str]:
    """Return a function that returns the text of the last group of a pattern, or nothing."""
    match = matcher(pattern)
    return lambda text: (groups[-1] or "") if (groups := match(text)) else ""


def _texts(path: Path) -> list[str]:
    raw = path.read_bytes()
    return [text.decode("utf-8", "replace") for text in raw.removesuffix(b"\0").split(b"\0")] if raw else []


def _boot_time(proc: Path) -> int:
    match = _BOOT.search((proc / "stat").read_bytes())
    return int(match[1]) if match else 0


def _owner(directory: Path) -> Doc:
    match = _UID.search((directory / "status").read_bytes())
    if match is None:
        return {}
    uid = int(match[1])
    try:
        return {"id": str(uid), "name": pwd.getpwuid(uid).pw_name}
    except KeyError:
        return {"id": str(uid)}
