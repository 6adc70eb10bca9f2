"""Recognises the names of rotated files: which file another one may have been before."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

NUMBER = re.compile(r"(?P<base>.+)\.(?P<number>\d+)(?:\.gz)?")
MOST_GENERATIONS = 1000  # a larger number is a date
NUMBERS_BEHIND = re.compile(r"(?:[._-]\d+)+$")
DATE_BEFORE_ENDING = re.compile(r"[._-]\d{4,}(?:[._-]?\d+)*$")


def is_named_after(path: str, original: str) -> bool:
    """True if the path is named as tools name rotated files: with a suffix (app.log.1, app.log-20261121, app.log.2.gz,
    of app.log or app.log.1), or a date before the extension (app-20261121.log). The directory may differ."""
    return name_of(path).startswith(name_of(original)) or family_of(path) == family_of(original)


def is_shifted(path: str, original: str) -> bool:
    """True if the path is that of an older generation of the same log: rotation has moved app.log.1 to app.log.2.gz."""
    older, younger = generation_of(path), generation_of(original)
    if older is None or younger is None or older[0] != younger[0]:
        return False
    return younger[1] < older[1] < MOST_GENERATIONS


def generation_of(path: str) -> tuple[str, int] | None:
    """Return the name of the log and the number that rotation has put behind it; None if there is no number."""
    numbered = NUMBER.fullmatch(name_of(path))
    return None if numbered is None else (numbered["base"], int(numbered["number"]))


def name_of(path: str) -> str:
    return PurePosixPath(path).name


def possible_names(path: str) -> list[str]:
    """Return all beginnings of the file's name."""
    name = name_of(path)
    return [name[:end] for end in range(1, len(name) + 1)]


def family_of(path: str) -> str:
    """Return the name without what rotation adds to it."""
    plain = PurePosixPath(NUMBERS_BEHIND.sub("", name_of(path).removesuffix(".gz")))
    return DATE_BEFORE_ENDING.sub("", plain.stem) + plain.suffix


def possible_originals(path: str) -> Iterator[str]:
    """Yield the paths from which this one may have been made: a part of its name, that and its extension, or, as
    logrotate shifts them, its name with a lower number."""
    name = PurePosixPath(path)
    directory = path[: len(path) - len(name.name)]
    for end in range(len(name.name) - 1, 0, -1):
        yield directory + name.name[:end]
        if name.suffix and end < len(name.stem):
            yield directory + name.name[:end] + name.suffix
    if numbered := NUMBER.fullmatch(name.name):
        number = int(numbered["number"])
        for lower in range(max(number - 2, 0), number):
            yield f"{directory}{numbered['base']}.{lower}"
