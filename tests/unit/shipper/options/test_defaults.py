"""The page about Filebeat has every default that differs, with the value that is in effect."""

import re
from pathlib import Path

import pytest

from log_shipper import config
from log_shipper.config.yaml.schema import options
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.model import InputConfig, PathConfig, ShipperConfig
from log_shipper.shipper.options.queues import MemQueue
from log_shipper.shipper.outputs.file import FileOutputConfig

PAGE = Path(config.__file__).parents[1] / "docs" / "reference" / "filebeat-differences.md"


def shown(name: str) -> str:
    """Return the default on the page."""
    chapter = PAGE.read_text().partition("## Defaults that differ")[2].partition("\n## ")[0]
    rows = (re.split(r" \| ", line) for line in chapter.splitlines() if line.startswith("| `"))
    return next(cells[2] for cells in rows if f"`{name}`" in cells[0])


def default(model: type, name: str) -> object:
    return next(option.default for option in options(model) if option.name == name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("output.kafka.compression", default(KafkaOutputConfig, "compression")),
        ("output.kafka.client_id", default(KafkaOutputConfig, "client_id")),
        ("queue.mem.events", default(MemQueue, "events")),
        ("filebeat.shutdown_timeout", f"{default(ShipperConfig, 'shutdown_timeout'):g}s"),
        ("output.file.filename", default(FileOutputConfig, "filename")),
        ("path.data", f"`{default(PathConfig, 'data')}`"),
    ],
)
def test_the_page_has_the_default_that_is_in_effect(name: str, value: object) -> None:
    assert shown(name) == str(value)


def test_a_removed_file_is_closed_as_the_page_has_it() -> None:
    removed = InputConfig(id="a", paths=("x",)).close.on_state_change.removed
    assert shown("close.on_state_change.removed").startswith(str(removed).lower())
