"""Checks that the sink's directories are distinct, and that none contains another: a table's VACUUM deletes all other
files in its directory, except names that begin with an underscore."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from log_shipper.config.text.checks import Finding
from log_shipper.spark_sink.options.template import Template

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SinkDirectory:
    """A directory, its option, and its purpose."""

    option: str
    path: str
    what: str


def base_is_fixed(template: Template) -> Iterator[Finding]:
    """Check that the base has a name, from which the names of the other tables derive."""
    _, path = _split(template.base)
    if path.strip("/") in ("", ".", ".."):
        where = " before the first %{...}" if template.fields else ""
        yield "", f"needs its own directory{where}, as in /data/logs: the names of the other tables derive from it"


def collisions(template: Template, topics: Sequence[str], directories: Sequence[SinkDirectory]) -> Iterator[Finding]:
    """Yield a finding for each pair of colliding directories. `topics`: the configured ones, none if only Kafka knows
    them."""
    fixed = [SinkDirectory("table.path", template.base, "the table")] if not template.fields else []
    for index, directory in enumerate(directories):
        others = (*fixed, *directories[:index])
        clashes = (_clash(directory, other) for other in others)
        yield from ((directory.option, message) for message in clashes if message)
        if template.fields:
            yield from ((directory.option, message) for message in _in_template(directory, template, topics))


def _clash(directory: SinkDirectory, other: SinkDirectory) -> str:
    mine, theirs = normalized(directory.path), normalized(other.path)
    if mine == theirs:
        return f"{directory.path!r} is {other.what} too ({other.option})"
    if _inside(mine, theirs):
        return f"{directory.path!r} is in the directory of {other.what} ({other.option})"
    if _inside(theirs, mine):
        return f"{directory.path!r} contains {other.what} ({other.option}: {other.path!r})"
    return ""


def _in_template(directory: SinkDirectory, template: Template, topics: Sequence[str]) -> Iterator[str]:
    pattern = re.compile(normal_pattern(template, topics))
    path = normalized(directory.path)
    parent = normalized(template.directory)
    if path == parent or _inside(parent, path):
        yield f"{directory.path!r} would contain the tables; choose a directory beside them"
    elif any(pattern.fullmatch(above) for above in _and_above(path)):
        yield (
            f"{directory.path!r} may be one of the tables of table.path ({_shown(template)}); choose a directory "
            f"beside them"
        )


def normal_pattern(template: Template, topics: Sequence[str]) -> str:
    """Return the template's pattern for normalised paths."""
    start = normalized(template.fixed) + ("/" if template.fixed.endswith("/") else "")
    return Template((start, *template.parts[1:])).pattern(topics).pattern.rstrip("/")


def normalized(path: str) -> str:
    """Return the normalised path of a directory: without trailing slash, double slashes and `file:`."""
    scheme, rest = _split(path)
    return scheme + posixpath.normpath(re.sub("/+", "/", rest)) if rest else scheme


def _split(path: str) -> tuple[str, str]:
    matched = _SCHEME.fullmatch(path)
    if matched is None:
        return "", path
    if matched[1].lower() == "file":
        return "", "/" + matched[3].lstrip("/")
    return f"{matched[1].lower()}://{matched[2] or ''}", matched[3]


def _inside(path: str, other: str) -> bool:
    """Return True if Delta would take `path` for a part of the table at `other`."""
    below = path.removeprefix(other.rstrip("/") + "/")
    return below != path and not below.startswith("_")


def _and_above(path: str) -> Iterator[str]:
    """Return the directory and all its parents."""
    yield path
    while (above := posixpath.dirname(path)) not in (path, ""):
        if not posixpath.basename(path).startswith("_"):
            yield above
        path = above


def _shown(template: Template) -> str:
    return "".join(part if isinstance(part, str) else f"%{{[{part.name}]}}" for part in template.parts)
