"""Recognises the names of rotated files: which file another one may have been before.

A name is that of the log, and what rotation has added to it: generations and dates, behind it (`app.log.1`,
`app.log-20261121`) or before its extension (`app.1.log`, `app-2026-11-21.0.log`). The rule is the same for a file that
was renamed, copied or compressed (`.gz`). In another directory it must have been added: there, any job may have a file
of the same name.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

NUMBERS = re.compile(r"(?:[._-]\d+)+$")
BEFORE_EXTENSION = re.compile(r"(?:\.\d+|[._-]\d{4,})(?:[._-]\d+)*$")  # worker-1.log is not a generation of worker.log
PART = re.compile(r"\d{4}[._-]\d\d[._-]\d\d|\d+")  # a date, or a number
DATE = re.compile(r"\d{4}[._/-]?\d\d")  # at least a year and a month, in the names of directories
MAX_DIGITS = 3  # of a generation: a larger number is a date
GENERATION = re.compile(rf"(?P<before>.+)\.(?P<number>\d{{1,{MAX_DIGITS}}})(?P<extension>\.[^.]*[^.\d][^.]*|)")


def is_named_after(path: str, original: str) -> bool:
    """Return True if rotation may have given this name to the file at `original`, a log (app.log) or an older
    generation of it (app.log.1). A tool may also append anything else to the name (app.log.bak)."""
    if _is_appended(name_of(path), name_of(original)):
        return True
    (log, added), (original_log, original_added) = _split(path), _split(original)
    return log == original_log and (added[: len(original_added)] == original_added or _is_older(added, original_added))


def is_of_same_log(path: str, original: str) -> bool:
    """Return True if the name may be that of a copy of the file at `original`, which may have been rotated itself
    since."""
    return _is_appended(name_of(path), name_of(original)) or log_of(path) == log_of(original)


def shows_rotation(path: str, original: str) -> bool:
    """Return True if a file of the same log is where rotation may have put it: in the directory of `original`, in one
    of a date below that, or, with a number or date added to its name, in any other one."""
    directory, original_directory = directory_of(path), directory_of(original)
    if directory == original_directory:
        return True
    if directory.startswith(original_directory) and DATE.search(directory, len(original_directory)):
        return True
    (log, added), (original_log, original_added) = _split(path), _split(original)
    is_added = len(added) > len(original_added) and added[: len(original_added)] == original_added
    return log == original_log and is_added


def was_rotated_before(path: str, original: str) -> bool:
    """Return True if the file was a generation of its log before: rotation moved app.log.1 to app.log.2.gz, or
    compressed it (app.log.1.gz)."""
    (log, added), (original_log, original_added) = _split(path), _split(original)
    is_compressed = name_of(path) == f"{name_of(original)}.gz" and GENERATION.fullmatch(name_of(original)) is not None
    return is_compressed or (log == original_log and _is_older(added, original_added))


def generation_of(path: str, log: str) -> int | None:
    """Return by how many generations the file is older than the one at `log`, if rotation counts them."""
    generation = GENERATION.fullmatch(name_of(path).removesuffix(".gz"))
    is_of_log = generation is not None and generation["before"] + generation["extension"] == name_of(log)
    return int(generation["number"]) if generation is not None and is_of_log else None


def numbers_in(path: str) -> list[int]:
    """Return the numbers that rotation has added to the name: those of dates, and others."""
    return [int(digits) for part in _split(path)[1] for digits in re.findall(r"\d+", part)]


def _is_appended(name: str, original: str) -> bool:
    """Return True if nothing or an extension follows the whole original name (job1.gz, but not job10.gz), or anything
    follows its extension (app.log-old)."""
    separators = "._-" if _extension(original) else "."
    return name == original or (name.startswith(original) and name[len(original)] in separators)


def _is_older(added: tuple[str, ...], younger: tuple[str, ...]) -> bool:
    """Return True if only the last part differs, and is the number of an older generation."""
    if not added or added[:-1] != younger[:-1] or len(added) != len(younger):
        return False
    is_generation = all(part.isdigit() and len(part) <= MAX_DIGITS for part in (added[-1], younger[-1]))
    return is_generation and int(added[-1]) > int(younger[-1])


@lru_cache(maxsize=1024)  # the path of a new file is split several times
def _split(path: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of the log, and what rotation has added to it."""
    name, behind = _strip(name_of(path).removesuffix(".gz"), NUMBERS)
    extension = _extension(name)
    stem, before = _strip(name[: len(name) - len(extension)], BEFORE_EXTENSION)
    return stem + extension, tuple(PART.findall(before + behind))


def _strip(name: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    added = pattern.search(name)
    start = added.start() if added is not None else len(name)
    return name[:start], name[start:]


def log_of(path: str) -> str:
    """Return the name of the log, without the additions of rotation."""
    return _split(path)[0]


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def directory_of(path: str) -> str:
    """Return the path of the directory, with the slash at its end."""
    return path[: len(path) - len(name_of(path))]


def _extension(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    return dot + extension if stem and extension else ""


def possible_names(path: str) -> list[str]:
    """Return all prefixes of the file's name."""
    name = name_of(path)
    return [name[:end] for end in range(1, len(name) + 1)]


def possible_originals(path: str) -> Iterator[str]:
    """Yield the paths from which this one may have been made: a part of its name, that and its extension, or its name
    with a lower generation."""
    name = name_of(path)
    directory = directory_of(path)
    plain = name.removesuffix(".gz")
    extension = _extension(log_of(path))
    for end in range(len(name) - 1, 0, -1):
        yield directory + name[:end]
        if extension and end < len(plain) - len(extension):
            yield directory + name[:end] + extension
    if generation := GENERATION.fullmatch(plain):
        number = int(generation["number"])
        for lower in range(max(number - 2, 0), number):
            yield f"{directory}{generation['before']}.{lower}{generation['extension']}"


def possible_originals_elsewhere(path: str) -> Iterator[str]:
    """Yield the paths of logs from which rotation may have made this file in another directory (`shows_rotation`): one
    that has one part more (`logs/old/app.log-20261121`, `old/web/app.log.1`). Most files of a host have none."""
    *parents, name = path.split("/")
    log, added = _split(path)
    if len(parents) > 1 and DATE.search(parents[-1]):
        yield "/".join([*parents[:-1], name.removesuffix(".gz")])
    if added:
        yield from ("/".join([*parents[:part], *parents[part + 1 :], log]) for part in range(len(parents) - 1, 0, -1))
