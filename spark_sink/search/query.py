"""The conditions of a search, as SQL.

A row matches if all conditions are true. All user input is passed as parameters, except `--where`, which is SQL;
`sealed` checks that it is one expression.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from log_shipper.config.text.globs import tokens

Case = Literal["smart", "ignore", "exact"]
# The column with a row's number in its piece. No table of the sink has a column of this name.
NUMBER = "search row number"
_MAGIC = re.compile(r"[*?\[\\]")
_NOTHING = r"[^\x00-\x{10FFFF}]"
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


@dataclass(frozen=True, slots=True)
class Query:
    """`text`: anywhere in the message; with `regex`, an RE2 regular expression. `since` and `until` have a zone, and
    are inclusive. `hosts` and `paths` are globs, of which one must match. `where`: the user's SQL."""

    text: str = ""
    regex: bool = False
    case: Case = "smart"
    since: datetime | None = None
    until: datetime | None = None
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    where: str = ""

    @property
    def ignores_case(self) -> bool:
        """True if case is ignored. `smart`: if the text has no upper case, like journalctl."""
        if self.case != "smart":
            return self.case == "ignore"
        # `\S` and `\pL` are character classes, not letters of the text.
        letters = re.sub(r"\\(?:p\{\^?\w+\}|p\w|.)", "", self.text, flags=re.IGNORECASE) if self.regex else self.text
        return letters == letters.lower()

    @property
    def pattern(self) -> str:
        """Return the regular expression for the text; `^` and `$` match at each line of the message."""
        flags = "(?im)" if self.ignores_case else "(?m)"
        return flags + (self.text if self.regex else escaped(self.text))


def escaped(text: str) -> str:
    """Return the regular expression that matches the text literally."""
    return _SPECIAL.sub(r"\\\g<0>", text)


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects rows of a piece: the SQL after FROM, the columns that it reads, and its parameters."""

    clause: str
    columns: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def conditions(query: Query) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions except `where`, cheap ones first, with their parameters. Raises ValueError for a glob."""
    chosen = [*_times(query), *_names(query), *_text(query)]
    return [sql for sql, _ in chosen], {name: value for _, parameters in chosen for name, value in parameters.items()}


Condition = tuple[str, dict[str, Any]]


def _times(query: Query) -> list[Condition]:
    bounds = (("ts >= $since", "since", query.since), ("ts <= $until", "until", query.until))
    return [(sql, {name: value}) for sql, name, value in bounds if value is not None]


def _names(query: Query) -> list[Condition]:
    names: list[Condition] = []
    for column, globs, pattern in (("host", query.hosts, name_pattern), ("path", query.paths, path_pattern)):
        if globs and all(is_literal(glob) and (column == "host" or "/" in glob) for glob in globs):
            names.append((f"list_contains(${column}, {column})", {column: list(globs)}))
        elif globs:
            either = "|".join(map(pattern, globs))
            names.append((f"regexp_full_match({column}, ${column})", {column: f"(?s:{either})"}))
    return names


def _text(query: Query) -> list[Condition]:
    if not query.text:
        return []
    if query.regex or query.ignores_case:
        return [("regexp_matches(message, $text)", {"text": query.pattern})]
    return [("contains(message, $text)", {"text": query.text})]


def is_literal(glob: str) -> bool:
    return _MAGIC.search(glob) is None


def path_pattern(glob: str) -> str:
    """Return the regular expression that fully matches the paths of a glob. Without a slash the glob is for the file
    name, in any directory; `**` is any number of directories. Raises ValueError."""
    if "/" not in glob:
        return f"(?:.*/)?{_segment(glob, other='[^/]')}"
    *above, last = glob.split("/")
    directories = "".join("(?:[^/]*/)*" if name == "**" else f"{_segment(name, other='[^/]')}/" for name in above)
    return directories + (".*" if last == "**" else _segment(last, other="[^/]"))


def name_pattern(glob: str) -> str:
    """Return the regular expression that fully matches the names of a glob. Raises ValueError."""
    return _segment(glob, other=".")


def _segment(text: str, other: str) -> str:
    """Return the regular expression of a segment; `other`: matches one character of a wildcard."""
    parts = []
    for token in tokens(text):
        if token.stars:
            parts.append(f"{other}*")
        elif token.regex == ".":
            parts.append(other)
        else:
            parts.append(_NOTHING if token.regex == "(?!)" else token.regex)
    return "".join(parts)
