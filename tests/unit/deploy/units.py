"""The settings of a systemd unit, and how exposed systemd finds it."""

import re
import subprocess
from pathlib import Path


def settings(unit: Path) -> dict[str, str]:
    """Each key of a unit has one line, but for the list of system calls: what is allowed, and what of that is not."""
    values: dict[str, str] = {}
    for line in unit.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            assert key not in values or key == "SystemCallFilter", f"{unit.name}: {key} is there twice"
            values[key] = f"{values[key]} {value}" if key in values else value
    return values


def exposure(unit: Path) -> float:
    """Return what `systemd-analyze security` gives the unit: 0 is nothing to attack, 10 is root without limits."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    overall = re.search(r"Overall exposure level for \S+: ([\d.]+) ", done.stdout)
    assert overall, done.stdout + done.stderr
    return float(overall[1])
