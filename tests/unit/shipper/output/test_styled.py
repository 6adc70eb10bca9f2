"""JSON in the styles of codec.json."""

import json

import pytest

from log_shipper.shipper.event import TRUNCATED, Batch
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.output.styled import StyledEncoder
from tests.builders import batch
from tests.processing import batch_of


def styled(max_bytes: int = 2**31, *, pretty: bool = False, escape_html: bool = False) -> StyledEncoder:
    return StyledEncoder(Encoder(max_bytes), max_bytes, pretty=pretty, escape_html=escape_html)


def test_a_pretty_record_is_the_same_record_over_several_lines() -> None:
    (plain,) = Encoder(2**31).encode(batch(["a"]))
    (pretty,) = styled(pretty=True).encode(batch(["a"]))
    assert json.loads(pretty) == json.loads(plain)
    assert pretty.splitlines()[:2] == ["{", '  "@timestamp": "1970-01-01T00:00:00.000Z",']


def test_escaped_html_has_no_character_of_html_and_means_the_same() -> None:
    text = '<a href="x">\u2028&amp;</a>'
    event = batch_of([{"message": text, "k<>": ["<b>"]}])
    (record,) = styled(escape_html=True).encode(event)
    assert not set("<>&\u2028") & set(record)
    assert "\\u003ca href" in record
    assert (json.loads(record)["message"], json.loads(record)["k<>"]) == (text, ["<b>"])


@pytest.mark.parametrize("text", ["x" * 5000, "<" * 5000, "<é\n" * 2000, "\U0001f642" * 2000])
@pytest.mark.parametrize(("pretty", "escape_html"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("max_bytes", [1000, 3333])
def test_a_record_fits_in_its_style_and_uses_most_of_the_room(
    text: str, pretty: bool, escape_html: bool, max_bytes: int
) -> None:
    event: Batch = batch(["short", text])
    codec = styled(max_bytes, pretty=pretty, escape_html=escape_html)
    short, long = codec.encode(event)
    assert "flags" not in json.loads(short)["log"]
    assert max_bytes - 400 < len(long.encode()) <= max_bytes
    cut = json.loads(long)
    assert (cut["log"]["flags"], text.startswith(cut["message"])) == ([TRUNCATED], True)
    assert codec.encode(event) == [short, long]


def test_a_record_that_cannot_be_made_small_enough_has_no_message_left() -> None:
    (record,) = styled(200, pretty=True).encode(batch(["x" * 500]))
    assert json.loads(record)["message"] == ""
