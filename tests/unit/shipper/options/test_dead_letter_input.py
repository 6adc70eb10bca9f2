"""The options of the input dead_letter."""

from pathlib import Path

import pytest

from log_shipper.shipper.inputs.dead_letter.options import DeadLetterInput
from tests.config_lab import ConfigLab


def problems(lab: ConfigLab, options: str) -> list[str]:
    return lab.problems(f"shipper.inputs: [{{type: dead_letter, {options}}}]\noutput.console:\n")


def test_the_simplest_reads_the_letters_of_the_agent_itself(lab: ConfigLab, tmp_path: Path) -> None:
    data = f"path.data: {tmp_path}\n"
    (config,) = lab.load(
        f"{data}shipper.inputs: [{{type: dead_letter, path: '${{path.data}}'}}]\noutput.console:\n"
    ).inputs
    assert isinstance(config, DeadLetterInput)
    assert (config.path, config.interval, config.ids) == (str(tmp_path), 600.0, frozenset())
    assert config.reads == (f"dead letters in {tmp_path}",)
    assert config.id.startswith("dead_letter-")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("id: a", "path: missing"),
        ("path: ' '", "path: is empty"),
        ("path: /x, interval: 500ms", "interval: must be at least 1"),
        ("path: /x, tags: [a]", "tags: is not supported: dead letters are sent unchanged; remove it"),
        ("path: /x, fields: {a: 1}", "fields: is not supported: dead letters are sent unchanged; remove it"),
        ("path: /x, processors: [{lowercase: {fields: [a]}}]", "processors: is not supported: dead letters are"),
        ("path: /x, publisher_pipeline.disable_host: true", "publisher_pipeline: is not supported: dead letters"),
        ("path: /x, ids: [a]", "ids: unknown"),
    ],
)
def test_what_is_wrong_is_said(lab: ConfigLab, options: str, problem: str) -> None:
    (found,) = problems(lab, options)
    assert f"shipper.inputs[0].{problem}" in found
