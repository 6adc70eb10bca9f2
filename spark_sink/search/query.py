"""What was asked for, as the conditions of a query.

A row matches if all conditions are true. Everything that a user has typed is a parameter, but for `--where`, which is
SQL; `sealed` checks that it is one expression.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from log_shipper.config.text.globs import tokens

Case = Literal["smart", "ignore", "exact"]
# The column of a row's number in its piece. No table of the sink has one of this name.
NUMBER = "search row number"
_MAGIC = re.compile(r"[*?\[\\]")
_NOTHING = r"[^\x00-\x{10FFFF}]"
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


@dataclass(frozen=True, slots=True)
class Query:
    """`text`: to be found in the message, anywhere; a regular expression of RE2 with `regex`. `since` and `until` have
    a zone, and include that time. Of several hosts or paths one must match; they are globs. `where`: SQL, as typed."""

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
        """True if upper and lower case are the same. `smart`: if the text has no upper case, as in journalctl."""
        if self.case != "smart":
            return self.case == "ignore"
        # `\S` and `\pL` are classes, no letters of the text.
        letters = re.sub(r"\\(?:p\{\^?\w+\}|p\w|.)", "", self.text, flags=re.IGNORECASE) if self.regex else self.text
        return letters == letters.lower()

    @property
    def pattern(self) -> str:
        """Return the regular expression that finds the text; `^` and `$` are the ends of a line of the message."""
        flags = "(?im)" if self.ignores_case else "(?m)"
        return flags + (self.text if self.regex else escaped(self.text))


def escaped(text: str) -> str:
    """Return the regular expression of a text as it is."""
    return _SPECIAL.sub(r"\\\g<0>", text)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows of a piece are taken: what follows FROM in SQL, the columns that it reads, and its parameters."""

    clause: str
    columns: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def conditions(query: Query) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions without `where`, cheap ones first, and their parameters. Raises ValueError for a glob."""
    chosen = [*_times(query), *_names(query), *_text(query)]
    return [sql for sql, _ in chosen], {name: value for _, parameters in chosen for name, value in parameters.items()}


Condition = tuple[str, dict[str, Any]]


def _times(query: Query) -> list[Condition]:
    bounds = (("ts >= $since", "since", query.since), ("ts <= $until", "until", query.until))
    return [(sql, {name: value}) for sql, name, value in bounds if value is not None]


def _names(query: Query) -> list[Condition]:
    wanted: list[Condition] = []
    for column, globs, pattern in (("host", query.hosts, name_pattern), ("path", query.paths, path_pattern)):
        if globs and all(is_literal(glob) and (column == "host" or "/" in glob) for glob in globs):
            wanted.append((f"list_contains(${column}, {column})", {column: list(globs)}))
        elif globs:
            either = "|".join(map(pattern, globs))
            wanted.append((f"regexp_full_match({column}, ${column})", {column: f"(?s:{either})"}))
    return wanted


def _text(query: Query) -> list[Condition]:
    if not query.text:
        return []
    if query.regex or query.ignores_case:
        return [("regexp_matches(message, $text)", {"text": query.pattern})]
    return [("contains(message, $text)", {"text": query.text})]


def is_literal(glob: str) -> bool:
    return _MAGIC.search(glob) is None


def path_pattern(glob: str) -> str:
    """Return what matches the paths that a glob means, whole: one without a slash is that of a file's name, in any
    directory. `**` is any number of directories. Raises ValueError."""
    if "/" not in glob:
        return f"(?:.*/)?{_segment(glob, other='[^/]')}"
    *above, last = glob.split("/")
    directories = "".join("(?:[^/]*/)*" if name == "**" else f"{_segment(name, other='[^/]')}/" for name in above)
    return directories + (".*" if last == "**" else _segment(last, other="[^/]"))


def name_pattern(glob: str) -> str:
    """Return what matches the names that a glob means, whole. Raises ValueError."""
    return _segment(glob, other=".")


def _segment(text: str, other: str) -> str:
    """Return the expression of a segment; `other`: what a wildcard matches."""
    parts = []
    for token in tokens(text):
        if token.stars:
            parts.append(f"{other}*")
        elif token.regex == ".":
            parts.append(other)
        else:
            parts.append(_NOTHING if token.regex == "(?!)" else token.regex)
    return "".join(parts)
