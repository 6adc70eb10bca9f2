"""The example of each parser, which the page of options shows, is true."""

import pytest
import yaml

from log_shipper.config.reference import example_parts
from log_shipper.shipper.options.parsers import PARSERS
from tests.builders import parsed
from tests.given_runs import GivenRuns
from tests.processing import parser_section


@pytest.mark.parametrize("name", PARSERS.models)
def test_an_example_is_true(name: str) -> None:
    item, lines, texts = example_parts(PARSERS.models[name].example)
    (parser,) = parser_section(f"- {item}").parsers
    assert parser.name == name
    reader = parsed(GivenRuns(yaml.safe_load(lines)), parser)
    runs = [run for run in (reader.next(), reader.finish()) if run is not None]
    assert [text for run in runs for text in run.texts] == yaml.safe_load(texts)
