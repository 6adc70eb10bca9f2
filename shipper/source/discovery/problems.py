"""The current problems of paths, in words; each is reported once, and again only if it was solved meanwhile."""

import logging
from collections.abc import Iterable

from logs.folding import EACH

logger = logging.getLogger(__name__)

NO_MATCH = "no file matches it"  # how the problem of such a pattern begins


class Problems:
    def __init__(self) -> None:
        self._of_files: dict[str, str] = {}  # met when opening them
        self._of_reads: dict[str, str] = {}  # met when reading files that could be opened
        self._of_scans: dict[str, dict[str, str]] = {}  # by input id

    @property
    def now(self) -> dict[str, str]:
        """Return all problems, by path or pattern. Any thread may ask."""
        current = self._of_reads | self._of_files
        for problems in list(self._of_scans.values()):
            current |= problems
        return current

    @property
    def unreadable(self) -> dict[str, str]:
        """Return those of what exists: that no file matches a pattern is well on most hosts. Any thread may ask."""
        return {path: problem for path, problem in self.now.items() if not problem.startswith(NO_MATCH)}

    def of_scan(self, input_id: str, problems: dict[str, str]) -> None:
        """Report all problems that a scan of the input met. A problem of the scan before that is not among them is
        solved."""
        before = self._of_scans.get(input_id, {})
        for path, problem in problems.items():
            if before.get(path) != problem:
                logger.warning("%s: %s", path, problem, extra=EACH)
        self._of_scans[input_id] = problems

    def forget_scans(self, input_ids: Iterable[str]) -> None:
        """Forget the problems of inputs whose paths are not scanned any more."""
        for input_id in input_ids:
            self._of_scans.pop(input_id, None)

    def of_file(self, path: str, problem: str | None) -> None:
        _note(self._of_files, path, problem)

    def of_read(self, path: str, problem: str | None) -> None:
        """Report the problem of a read, or None when the file was read. A file that can be opened again and again, but
        not read, keeps its problem until it was read."""
        _note(self._of_reads, path, problem)

    def keep(self, present: set[str]) -> None:
        """Forget the problems of files that no longer exist."""
        self._of_files, self._of_reads = (
            {path: problem for path, problem in problems.items() if path in present}
            for problems in (self._of_files, self._of_reads)
        )

    def excuses(self, path: str) -> bool:
        """True if the file could not be inspected, so that its absence from a listing means nothing."""
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
        logger.warning("%s: %s", path, problem, extra=EACH)
