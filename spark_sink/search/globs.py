"""Globs as regular expressions of RE2, for DuckDB: in `--path` those of the configuration, which are Filebeat's."""

import re

from log_shipper.config.text.globs import tokens

_MAGIC = re.compile(r"[*?\[\\]")
_NOTHING = r"[^\x00-\x{10FFFF}]"


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
