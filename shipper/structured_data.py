"""The structured data of RFC 5424: `[id name="value" ...]`, one or more of these on end.

One walk from left to right, in time proportional to the length, whatever is in it.
"""

import re

_NAME = re.compile(r'[^\s=\]"]{1,32}+')
Elements = dict[str, dict[str, str]]


def split(text: str) -> tuple[Elements, str, str] | None:
    """The elements by id; what is in brackets and yet does not conform to RFC 5424; and what follows the blank behind
    it. None where the text begins with neither `-` nor brackets."""
    raw, data = "", Elements()
    if text[:1] == "-":
        end = 1
    else:
        try:
            end = _elements(text, data)
        except _NoElement:
            end = _bracketed(text)
            raw, data = text[:end], {}
    if not end or text[end : end + 1] not in ("", " "):
        return None
    return data, raw, text[end + 1 :]


def _elements(text: str, data: Elements) -> int:
    """Reads elements, and returns where the last one ends."""
    end = 0
    while text[end : end + 1] == "[":
        end = _element(text, end, data)
    return end


class _NoElement(Exception):
    """It is in brackets, and yet not as RFC 5424 has it."""


def _element(text: str, start: int, data: Elements) -> int:
    """Reads `[id name="value" ...]` from `start` on, and returns where it ends."""
    at = _name_end(text, start + 1)
    values = data.setdefault(text[start + 1 : at], {})
    while text[at : at + 1] == " ":
        name_end = _name_end(text, at + 1)
        if text[name_end : name_end + 2] != '="':
            raise _NoElement
        values_at = name_end + 2
        value, end = _value(text, values_at)
        values[text[at + 1 : name_end]] = value
        at = end
    if text[at : at + 1] != "]":
        raise _NoElement
    return at + 1


def _name_end(text: str, start: int) -> int:
    name = _NAME.match(text, start)
    if name is None:
        raise _NoElement
    return name.end()


def _value(text: str, start: int) -> tuple[str, int]:
    r"""Up to the quote; \" \] and \\ stand for what is behind the backslash, which is itself before all else."""
    pieces: list[str] = []
    at = begin = start
    quote = start - 1
    while True:
        if quote < at:  # else it is known: looking again after each of many backslashes would take their square
            quote = text.find('"', at)
        if quote < 0:
            raise _NoElement
        escape = text.find("\\", at, quote)
        bracket = text.find("]", at, quote if escape < 0 else escape)
        if bracket >= 0:
            raise _NoElement
        if escape < 0:
            pieces.append(text[begin:quote])
            return "".join(pieces), quote + 1
        if text[escape + 1 : escape + 2] in ('"', "]", "\\"):
            pieces.append(text[begin:escape])
            begin = escape + 1
            at = escape + 2
        else:
            at = escape + 1


def _bracketed(text: str) -> int:
    r"""Where a sequence of [...] ends; \] does not end one. 0 where there is none."""
    end = 0
    while text[end : end + 1] == "[":
        close = text.find("]", end)
        while close > 0 and text[close - 1] == "\\":
            close = text.find("]", close + 1)
        if close < 0:
            return 0
        end = close + 1
    return end
