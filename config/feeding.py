"""Whether an input would read what the shipper itself writes: each record would become a line, and each line a record.

Told from the names alone, as globs find them; a link to such a file is not seen through.
"""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from config.checks import Finding
from config.inputs import InputConfig, ScannerConfig
from config.patterns import searcher

_WRITES = "what it writes; exclude that file, or move one of them"


def feeds_itself(inputs: tuple[InputConfig, ...], written: Mapping[str, str]) -> Iterator[Finding]:
    """Findings below `inputs`; `written` is what the shipper writes, by path -> what it is."""
    for index, each in enumerate(inputs):
        if not each.enabled:
            continue
        for at, pattern in enumerate(each.paths):
            for path, what in written.items():
                if _reads(each.prospector.scanner, pattern, os.path.abspath(path)):
                    yield f"[{index}].paths[{at}]", f"matches {path} of {what}: the shipper would read {_WRITES}"
                    break


def _reads(scanner: ScannerConfig, pattern: str, path: str) -> bool:
    included = not scanner.include_files or searcher(scanner.include_files)(path)
    excluded = searcher(scanner.exclude_files)(path)
    names = os.path.abspath(pattern).split("/")
    return included and not excluded and _matches(names, path.split("/"), recursive=scanner.recursive_glob)


def _matches(pattern: list[str], path: list[str], *, recursive: bool) -> bool:
    """Name by name: a star ends at the slash, and `**` is any number of names, none included."""
    if not pattern or not path:
        return pattern == path
    if recursive and pattern[0] == "**":
        return any(_matches(pattern[1:], path[skipped:], recursive=True) for skipped in range(len(path) + 1))
    return fnmatchcase(path[0], pattern[0]) and _matches(pattern[1:], path[1:], recursive=recursive)
