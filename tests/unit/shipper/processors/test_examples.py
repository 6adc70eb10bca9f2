"""The example of each processor, which the page of options shows, is true."""

import pytest
import yaml

from log_shipper.shipper.options.processors import PROCESSORS
from tests.processing import processed, section
from tests.tables import rows


@pytest.mark.parametrize("name", [name for name, model in PROCESSORS.models.items() if model.example])
def test_an_example_is_true(name: str) -> None:
    item, *events = rows(PROCESSORS.models[name].example)[0]
    if not events:
        (config,) = section(f"- {item}").processors
        assert isinstance(config, PROCESSORS.models[name])
        return
    before, after = map(yaml.safe_load, events)
    assert item.partition(":")[0] == name
    assert processed(f"- {item}", before) == [after]
