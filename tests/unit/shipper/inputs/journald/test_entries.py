"""Lines of journalctl as entries."""

import json
from typing import Any

import pytest

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.inputs.journald.entries import EntryDecoder


def line(**fields: Any) -> bytes:
    entry = {"__CURSOR": "s=a;i=1;b=c;m=2;t=3;x=4", "__REALTIME_TIMESTAMP": "1700000000000000", "MESSAGE": "one"}
    return json.dumps(entry | fields).encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"__REALTIME_TIMESTAMP": str(2**64 - 1)},
        {"__REALTIME_TIMESTAMP": "-1"},
        {"__CURSOR": "s=a;i=7fffffffffffffff;b=c;m=2"},
        {"__CURSOR": "another form"},
        {"__CURSOR": None},
        {"__REALTIME_TIMESTAMP": "now"},
    ],
    ids=["beyond all years", "before all", "beyond all numbers", "another cursor", "no cursor", "no time"],
)
def test_an_entry_that_cannot_be_right_is_left_out_and_reported(
    fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    decoder = EntryDecoder("journal x", 1000, Throttle())
    entries = decoder.entries([line(MESSAGE="before"), line(**fields), line(MESSAGE="behind")])
    assert [entry.text for entry in entries] == ["before", "behind"]
    assert decoder.refused == [line(**fields)]
    assert "journal x: skipped a line of journalctl that is not an entry" in caplog.text


def test_a_message_that_is_nested_too_deeply_is_left_out() -> None:
    decoder = EntryDecoder("journal x", 1000, Throttle())
    nested = line().replace(b'"one"', b"[" * 1000 + b"]" * 1000)
    assert [entry.text for entry in decoder.entries([nested, line()])] == ["one"]
