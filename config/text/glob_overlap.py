"""Tells whether two globs can match the same path."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from log_shipper.config.text.globs import AnyDepth, FixedName, PathPattern, Segment, Token, parse, tokens

T = TypeVar("T")

_MAGIC = re.compile(r"[*?\[\]\\]")


@dataclass(frozen=True, slots=True)
class PathSet:
    """The paths that a pattern matches, with what all of them begin and end with: most pairs differ there."""

    prefix: str
    suffix: str
    segments: tuple[Segment, ...]

    def overlaps(self, other: "PathSet") -> bool:
        """True if a path may be in both."""
        return (
            _agree(self.suffix, other.suffix, str.endswith)  # of thousands of containers all differ there
            and _agree(self.prefix, other.prefix, str.startswith)
            and _meet(self.segments, other.segments, lambda segment: isinstance(segment, AnyDepth), _have_common_name)
        )


PathSets = tuple[PathSet, ...]


def path_sets(paths: Iterable[str], *, recursive: bool) -> PathSets:
    """Return the paths that each glob matches. Raises ValueError."""
    # Those of containers are asked for again and again; a relative one depends on the current directory.
    return tuple(
        _absolute(path, recursive) if path.startswith("/") else _path_set(parse(path, recursive=recursive))
        for path in paths
    )


@lru_cache(maxsize=4096)
def _absolute(path: str, recursive: bool) -> PathSet:
    return _path_set(parse(path, recursive=recursive))


def overlap(some: PathSets, others: PathSets) -> bool:
    """True if a path may be in both."""
    return any(one.overlaps(other) for one in some for other in others)


def _path_set(pattern: PathPattern) -> PathSet:
    literal = _MAGIC.split(pattern.path)
    above = tuple(FixedName(name) for name in pattern.root.strip("/").split("/") if name)
    return PathSet(literal[0], literal[-1], (*above, *pattern.middle, pattern.last))


def _agree(one: str, other: str, test: Callable[[str, str], bool]) -> bool:
    return test(one, other) or test(other, one)


def _have_common_name(one: Segment, other: Segment) -> bool:
    return _meet(_tokens(one), _tokens(other), lambda token: token.stars, _have_common_character)


def _have_common_character(one: Token, other: Token) -> bool:
    # Two sets are taken to have one: to find that they do not is not worth it.
    if one.literal is None and other.literal is None:
        return True
    if one.literal is not None and other.literal is not None:
        return one.literal == other.literal
    literal, token = (one.literal, other) if one.literal is not None else (other.literal, one)
    return literal is not None and re.fullmatch(token.regex, literal, re.DOTALL) is not None


def _tokens(segment: Segment) -> Sequence[Token]:
    if isinstance(segment, FixedName):
        return [Token(literal=character) for character in segment.name]
    assert not isinstance(segment, AnyDepth)
    return tokens(segment.text)


def _meet(one: Sequence[T], other: Sequence[T], is_run: Callable[[T], bool], fit: Callable[[T, T], bool]) -> bool:
    """True if some sequence is matched by both; `is_run`: of elements that stand for any number of others."""
    reached = [(0, 0)]
    known = set(reached)
    while reached:
        i, j = reached.pop()
        if i == len(one) and j == len(other):
            return True
        following = []
        one_runs, other_runs = i < len(one) and is_run(one[i]), j < len(other) and is_run(other[j])
        if one_runs or (other_runs and i < len(one)):  # a run ends, or takes an element of the other
            following.append((i + 1, j))
        if other_runs or (one_runs and j < len(other)):
            following.append((i, j + 1))
        if not following and i < len(one) and j < len(other) and fit(one[i], other[j]):
            following.append((i + 1, j + 1))
        reached += [place for place in following if place not in known]
        known.update(following)
    return False
