"""Encodings and line terminators of log files, under Filebeat's names."""

from typing import Annotated, Literal

LineTerminator = Literal[
    "auto",
    "line_feed",
    "vertical_tab",
    "form_feed",
    "carriage_return",
    "carriage_return_line_feed",
    "next_line",
    "line_separator",
    "paragraph_separator",
    "null_terminator",
]


def parse_encoding(text: str) -> str:
    """The name as it is written. Raises ValueError for one that is not known."""
    if text not in ("plain", "utf-8"):
        raise ValueError(f"{text!r} is no encoding that is known here")
    return text


# The loader calls the second argument with the scalar's text.
Encoding = Annotated[str, parse_encoding]
