"""Regular expressions as a filebeat.yml holds them (Go's), as Python writes them.

Python has no POSIX classes and takes `[[:space:]]` for a set of these characters: it compiles and never matches what
was meant. So they are rewritten. What else Go has and Python has not (\\pL, \\z, \\Q) does not compile and is refused.
"""

import re
from typing import Annotated

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NEGATED = {"digit": r"\D", "space": r"\S", "word": r"\W"}
_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
_OPENING = re.compile(r"\[\^?\]?")


def parse_pattern(text: str) -> str:
    """The pattern in Python's notation. Raises ValueError when it does not compile."""
    pattern = _without_posix(text)
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error.msg}") from error
    return pattern


def _without_posix(text: str) -> str:
    done: list[str] = []
    at, inside = 0, False
    while at < len(text):
        step = _step(text, at, inside)
        if inside:
            inside = step != "]"
            named = _CLASS.match(text, at)
            done.append(_members(named[1], named[2]) if named else step.replace("[", r"\["))
            step = named[0] if named else step
        else:
            inside = step.startswith("[")
            done.append(step)
        at += len(step)
    return "".join(done)


def _step(text: str, at: int, inside: bool) -> str:
    """What is read as one: an escape, the opening of a set with a `]` that cannot close it yet, or a character."""
    if text[at] == "\\":
        return text[at : at + 2]
    opening = None if inside else _OPENING.match(text, at)
    return opening[0] if opening else text[at]


def _members(negated: str, name: str) -> str:
    members = (_NEGATED if negated else _POSIX).get(name)
    if members is None:
        raise ValueError(f"[:{negated}{name}:] is no class of characters known here")
    return members


# The loader calls the second argument with the scalar's text.
Pattern = Annotated[str, parse_pattern]
