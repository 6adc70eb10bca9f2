"""Lines are put together from pieces, and too long ones are skipped."""

import pytest

from log_shipper.shipper.inputs.journald.lines import OutputLines

TEXT = b'{"a":1}\n\n{"__CURSOR":"s=1;i=2","b":"' + b"x" * 60 + b'"}\n{"c":3}\n{"rest'


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 1000])
def test_lines_do_not_depend_on_where_reads_end(size: int) -> None:
    lines = OutputLines(50)
    read = [line for start in range(0, len(TEXT), size) for line in lines.split(TEXT[start : start + size])]
    assert read == [b'{"a":1}', b"", b'{"c":3}']
    assert lines.take_skipped() == [("s=1;i=2", len(TEXT.split(b"\n")[2]))]
    assert lines.take_skipped() == []


def test_a_cursor_within_a_message_is_not_the_entrys() -> None:
    lines = OutputLines(10)
    lines.split(b'{"MESSAGE":"\\"__CURSOR\\":\\"s=forged\\"' + b"x" * 2000 + b'","__CURSOR":"s=true"}\n')
    assert lines.take_skipped()[0][0] == "s=true"
