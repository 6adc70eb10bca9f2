"""Whether an input would read what the shipper itself writes: each record would become a line, and each line a record.

Told from the names alone, as globs find them; a link to such a file is not seen through.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from config.checks import Finding
from config.inputs import InputConfig, ScannerConfig
from config.patterns import searcher

_MAGIC = re.compile(r"[*?[]")
_WRITES = "what it writes; exclude that file, or move one of them"


def feeds_itself(inputs: tuple[InputConfig, ...], written: Mapping[str, str]) -> Iterator[Finding]:
    """Findings below `inputs`; `written` is what the shipper writes, by path -> what it is."""
    absolute = {path: os.path.abspath(path) for path in written}
    for index, each in enumerate(inputs):
        if not each.enabled:
            continue
        for at, pattern in enumerate(each.paths):
            matches = _matcher(os.path.abspath(pattern), recursive=each.prospector.scanner.recursive_glob)
            for path, what in written.items():
                if matches(absolute[path]) and _takes(each.prospector.scanner, absolute[path]):
                    yield f"[{index}].paths[{at}]", f"matches {path} of {what}: the shipper would read {_WRITES}"
                    break


def _takes(scanner: ScannerConfig, path: str) -> bool:
    included = not scanner.include_files or searcher(scanner.include_files)(path)
    return included and not searcher(scanner.exclude_files)(path)


def _matcher(pattern: str, *, recursive: bool) -> Callable[[str], bool]:
    """Whether a path matches, name by name: a star ends at the slash; `**` is any number of names, none included."""
    beginning = _MAGIC.split(pattern, maxsplit=1)[0]
    if beginning == pattern:
        return pattern.__eq__
    names = pattern.split("/")
    # Nearly every path is told by its beginning already; thousands of inputs are looked at, each with several paths.
    return lambda path: path.startswith(beginning) and _matches(names, path.split("/"), recursive=recursive)


def _matches(pattern: list[str], path: list[str], *, recursive: bool) -> bool:
    # How many names of the path may be matched by the pattern so far: trying each way of each `**` could take for ever.
    matched = {0}
    for name in pattern:
        if recursive and name == "**":
            matched = set(range(min(matched), len(path) + 1))
        else:
            matched = {count + 1 for count in matched if count < len(path) and fnmatchcase(path[count], name)}
        if not matched:
            return False
    return len(path) in matched
