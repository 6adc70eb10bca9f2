import io
import json

from shipper.output.console import ConsoleOutput
from tests.builders import Told, batch, encoder


def test_each_record_is_a_line() -> None:
    stream, told = io.BytesIO(), Told()
    output = ConsoleOutput(encoder(), told, stream=stream)
    assert output.publish(batch(["a", "ü"]))
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["a", "ü"]
    assert told.texts == ["a", "ü"]


def test_pretty_spreads_a_record_over_lines() -> None:
    stream = io.BytesIO()
    ConsoleOutput(encoder(), Told(), pretty=True, stream=stream).publish(batch(["a"]))
    lines = stream.getvalue().decode().splitlines()
    assert lines[0] == "{"
    assert json.loads("".join(lines))["message"] == "a"
