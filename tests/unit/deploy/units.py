"""The settings of a systemd unit."""

from pathlib import Path


def settings(unit: Path) -> dict[str, str]:
    """Each key of a unit has one line."""
    values: dict[str, str] = {}
    for line in unit.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            assert key not in values, f"{unit.name}: {key} is there twice"
            values[key] = value
    return values
