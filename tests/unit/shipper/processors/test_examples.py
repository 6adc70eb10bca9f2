"""The example of each processor, which the page of options shows, is true."""

from typing import Any

import pytest
import yaml

from log_shipper.config.reference import example_parts
from log_shipper.shipper.event import Doc
from log_shipper.shipper.options.processors import PROCESSORS
from tests.processing import NOISE, batch_of, chain_of, records, section


@pytest.mark.parametrize("name", list(PROCESSORS.models))
def test_an_example_is_true(name: str) -> None:
    item, *events = example_parts(PROCESSORS.models[name].example)
    if not events:
        (config,) = section(f"- {item}").processors
        assert isinstance(config, PROCESSORS.models[name])
        return
    before, after = map(yaml.safe_load, events)
    assert item.partition(":")[0] == name
    batch = batch_of([before])
    chain_of(f"- {item}")(batch)
    (record,) = records(batch)
    assert shown(record, after) == after


def shown(record: Doc, example: Doc) -> Doc:
    """Return the record, and of what every record has only what the example shows."""
    members = {name: value for name, value in record.items() if name in example or name not in NOISE}
    return {name: _within(value, example[name]) if name in NOISE else value for name, value in members.items()}


def _within(value: Any, example: Any) -> Any:
    return {name: value[name] for name in example} if isinstance(example, dict) else value
