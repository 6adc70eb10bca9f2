"""The tokenizer of `dissect`: literal text with keys, each of which takes everything up to the next literal text.

%{key}  %{a.b}    a value
%{}  %{?name}     skipped; the value of a name can be the key of `%{&name}`
%{*name}          as `%{?name}`
%{&name}          a value whose key is the value of `name`
%{+key}           appended to the value of `key` after the literal text before it; `/2` is its place in the order
%{key->}          the literal text after it may be repeated (padding)
%{key#10}         ten characters, whatever they are
%{key|integer}    as a number; also long, float, double, boolean, ip, string
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["plain", "skip", "name", "append", "indirect"]
TYPES = ("integer", "long", "float", "double", "string", "boolean", "ip")

_KEY = re.compile(r"%\{([^}]*)\}")
_PARTS = re.compile(r"(?P<name>.*?)(?:/(?P<order>\d{1,2}))?(?:#(?P<length>\d+))?(?P<padded>->)?(?:\|(?P<type>\w*))?")
_PREFIXES: dict[str, Kind] = {"?": "name", "*": "name", "+": "append", "&": "indirect"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a tokenizer; `before` and `after` are the literal texts around it. If `length` is 0, the value ends at
    `after`, or at the end of the text if that is empty.
    """

    kind: Kind
    name: str
    order: int
    length: int
    padded: bool
    type: str
    before: str
    after: str
    last: bool


def parse_tokenizer(text: str) -> tuple[Key, ...]:
    """Parse a tokenizer. Raises ValueError with a message for the user."""
    pieces = _KEY.split(text)  # literal, key, literal, key, ..., literal
    literals, written = pieces[0::2], pieces[1::2]
    if not written:
        raise ValueError(
            f"{text!r} extracts no field: write %{{name}} in place of each value, for example '%{{client}} %{{status}}'"
        )
    if "%{" in literals[-1]:
        raise ValueError(f"{literals[-1][literals[-1].index('%{') :]!r} has no closing brace; write %{{name}}")
    last = len(written) - 1
    keys = tuple(
        _key(raw, literals[index], literals[index + 1], last=index == last and not literals[index + 1])
        for index, raw in enumerate(written)
    )
    _check(keys)
    return keys


def _key(raw: str, before: str, after: str, *, last: bool) -> Key:
    parts = _PARTS.fullmatch(raw)
    assert parts is not None, "every part is optional"
    name, kind = parts["name"], parts["type"]
    if kind is not None and kind not in TYPES:
        raise ValueError(f"%{{{raw}}}: the type after | must be one of: {', '.join(TYPES)}")
    if name[:2] in ("+&", "&+"):
        raise ValueError(f"%{{{raw}}}: + and & cannot be combined")
    what = _PREFIXES.get(name[:1], "plain" if name else "skip")
    key = name[1:] if what not in ("plain", "skip") else name
    if not key and what in ("append", "indirect"):
        raise ValueError(f"%{{{raw}}} needs a name")
    if key and not all(key.split(".")):
        raise ValueError(f"%{{{raw}}}: {key!r} has an empty part")
    if not key:
        what = "skip"
    padded = bool(parts["padded"])
    return Key(what, key, int(parts["order"] or 0), int(parts["length"] or 0), padded, kind or "", before, after, last)


def _check(keys: tuple[Key, ...]) -> None:
    named = {key.name for key in keys if key.kind in ("name", "plain")}
    for key in keys:
        if key.kind == "indirect" and key.name not in named:
            raise ValueError(f"%{{&{key.name}}} refers to a missing key; add %{{?{key.name}}}")
    if len(keys) == 1 and keys[0].kind == "skip":
        raise ValueError("extracts nothing: its only key is skipped")
    if clash := clashing([key.name for key in keys if key.kind in ("plain", "append")]):
        raise ValueError(clash)


def clashing(names: list[str]) -> str | None:
    """Return an error if one of these dotted names would be both a value and an object, else None."""
    for name in sorted(names):
        below = next((other for other in names if other.startswith(name + ".")), None)
        if below is not None:
            return f"{name!r} cannot be both a value and an object with {below!r}"
    return None
