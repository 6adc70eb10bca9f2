"""The example of each output, which the page of options shows, is true."""

from pathlib import Path

import orjson
import pytest

from log_shipper.config.yaml.load import load
from log_shipper.config.yaml.schema import options
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.outputs import OutputConfig
from log_shipper.shipper.outputs.base import kind_of
from tests.builders import batch

OUTPUTS = {option.name: option.section for option in options(OutputConfig)}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_is_read_and_sends_events(name: str, tmp_path: Path) -> None:
    file = tmp_path / "shipper.yml"
    file.write_text(f"shipper.inputs: [{{id: a, paths: [/a]}}]\n{OUTPUTS[name].example}\n")
    config = load(file, ShipperConfig)
    output = kind_of(config)
    assert (config.output.kind, type(output), config.warnings) == (name, OUTPUTS[name], ())
    (sample,) = output.records()(batch(["a line"]))
    assert orjson.loads(sample.value)["message"] == "a line"
    assert output.describe().startswith(name)
