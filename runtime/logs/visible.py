"""Escapes external text (file names, log lines) for display."""

import re

# Characters that control a terminal or change the direction of text: C0, DEL, C1, bidirectional controls, and line and
# paragraph separators. Surrogates, which stand for bytes that are not UTF-8, cannot be printed at all.
_HIDDEN = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, keep: str = "") -> str:
    """Return the text with control characters escaped by a backslash, except those in `keep`. A JSON document stays the
    same document.
    """
    return _HIDDEN.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 32 else f"\\u{code:04x}")
