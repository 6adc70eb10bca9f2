"""What is wrong with a path now, in words; each is reported once, and again only if it was well meanwhile."""

import logging
from collections.abc import Iterable

logger = logging.getLogger(__name__)


class Problems:
    def __init__(self) -> None:
        self._of_files: dict[str, str] = {}  # what opening them tells
        self._of_reads: dict[str, str] = {}  # of files that could be opened
        self._of_scans: dict[str, dict[str, str]] = {}  # by input id

    @property
    def now(self) -> dict[str, str]:
        """By path or pattern."""
        found = self._of_reads | self._of_files
        for problems in self._of_scans.values():
            found |= problems
        return found

    def of_scan(self, input_id: str, problems: dict[str, str]) -> None:
        """All that a scan of the input found wrong; what it found before and not now is well again."""
        before = self._of_scans.get(input_id, {})
        for path, problem in problems.items():
            if before.get(path) != problem:
                logger.warning("%s: %s", path, problem)
        self._of_scans[input_id] = problems

    def forget_scans(self, input_ids: Iterable[str]) -> None:
        """No one looks through their paths any more."""
        for input_id in input_ids:
            self._of_scans.pop(input_id, None)

    def of_file(self, path: str, problem: str | None) -> None:
        _note(self._of_files, path, problem)

    def of_read(self, path: str, problem: str | None) -> None:
        """A file that can be opened each time, and not be read, is well only when it was read."""
        _note(self._of_reads, path, problem)

    def keep(self, present: set[str]) -> None:
        """Forget what was wrong with files that are not there any more."""
        self._of_files, self._of_reads = (
            {path: problem for path, problem in problems.items() if path in present}
            for problems in (self._of_files, self._of_reads)
        )

    def excuses(self, path: str) -> bool:
        """True if the file could not be looked at, so that its absence from a listing says nothing."""
        return any(
            path == place or path.startswith(place.rstrip("/") + "/")
            for problems in self._of_scans.values()
            for place in problems
        )


def _note(problems: dict[str, str], path: str, problem: str | None) -> None:
    if problem is None:
        problems.pop(path, None)
    elif problems.get(path) != problem:
        problems[path] = problem
        logger.warning("%s: %s", path, problem)
