"""Whether an input would read what the shipper itself writes: each record would become a line, and each line a record.

Told from the names alone, as globs find them; a link to such a file is not seen through.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping

from config.shipper.inputs import InputConfig, ScannerConfig
from config.text import globs
from config.text.checks import Finding
from config.text.patterns import searcher

_MAGIC = re.compile(r"[*?\[\\]")
_WRITES = "what it writes; exclude that file, or move one of them"


def feeds_itself(inputs: tuple[InputConfig, ...], written: Mapping[str, str]) -> Iterator[Finding]:
    """Findings below `inputs`; `written` is what the shipper writes, by path -> what it is."""
    absolute = {path: os.path.abspath(path) for path in written}
    for index, each in enumerate(inputs):
        if not each.enabled:
            continue
        for at, pattern in enumerate(each.paths):
            matches = _matcher(pattern, recursive=each.prospector.scanner.recursive_glob)
            for path, what in written.items():
                if matches(absolute[path]) and _takes(each.prospector.scanner, absolute[path]):
                    yield f"[{index}].paths[{at}]", f"matches {path} of {what}: the shipper would read {_WRITES}"
                    break


def _takes(scanner: ScannerConfig, path: str) -> bool:
    included = not scanner.include_files or searcher(scanner.include_files)(path)
    return included and not searcher(scanner.exclude_files)(path)


def _matcher(pattern: str, *, recursive: bool) -> Callable[[str], bool]:
    """True for the paths of files that the scanner would find by the pattern."""
    absolute = os.path.abspath(pattern)
    beginning = _MAGIC.split(absolute, maxsplit=1)[0]
    if beginning == absolute:
        return absolute.__eq__

    def finds(path: str) -> bool:
        # The beginning rules out nearly every path: there may be thousands of inputs, each with several patterns.
        if not path.startswith(beginning):
            return False
        try:
            return globs.matches(globs.parse(pattern, recursive=recursive), path)
        except ValueError:  # it finds nothing at all, which the scanner reports
            return False

    return finds
