"""Keep the current problems of paths. Each is reported once, and again only if it was solved in between."""

import logging
from collections.abc import Container, Iterable

from log_shipper.runtime.logs.folding import EACH

logger = logging.getLogger(__name__)


class FileProblems:
    def __init__(self) -> None:
        self._of_files: dict[str, str] = {}  # from opening files
        self._of_reads: dict[str, str] = {}  # from reading open files
        self._of_scans: dict[str, dict[str, str]] = {}  # by input id
        self._unmatched: dict[str, dict[str, str]] = {}  # patterns without a match, by input id

    @property
    def now(self) -> dict[str, str]:
        """Return all problems, by path or pattern. Any thread may call it."""
        return _together(self._unmatched) | self.unreadable

    @property
    def unreadable(self) -> dict[str, str]:
        """Return the problems of existing files: on most hosts some patterns match nothing. Any thread may call it."""
        return self._of_reads | self._of_files | _together(self._of_scans)

    def report_scan(self, input_id: str, problems: dict[str, str], unmatched: dict[str, str]) -> None:
        """Replace the problems and the unmatched patterns of an input by those of its last scan, and log the new
        ones."""
        for known, now in ((self._of_scans, problems), (self._unmatched, unmatched)):
            before = known.get(input_id, {})
            for path, problem in now.items():
                if before.get(path) != problem:
                    logger.warning("%s: %s", path, problem, extra=EACH)
            known[input_id] = now

    def forget_scans(self, input_ids: Iterable[str]) -> None:
        """Forget the problems of inputs that are no longer scanned."""
        for input_id in input_ids:
            self._of_scans.pop(input_id, None)
            self._unmatched.pop(input_id, None)

    def of_file(self, path: str, problem: str | None) -> None:
        _note(self._of_files, path, problem)

    def report_read(self, path: str, problem: str | None) -> None:
        """Report the problem of a read, or None for success. A file that opens but cannot be read keeps its problem
        until a read succeeds."""
        _note(self._of_reads, path, problem)

    def keep(self, present: Container[str]) -> None:
        """Forget the problems of files that no longer exist."""
        self._of_files, self._of_reads = (
            {path: problem for path, problem in problems.items() if path in present}
            for problems in (self._of_files, self._of_reads)
        )

    def is_inaccessible(self, path: str) -> bool:
        """Return True if the file could not be inspected, so that its absence from a listing means nothing."""
        return any(
            path == place or path.startswith(place.rstrip("/") + "/")
            for problems in self._of_scans.values()
            for place in problems
        )


def _together(of_inputs: dict[str, dict[str, str]]) -> dict[str, str]:
    together: dict[str, str] = {}
    for problems in list(of_inputs.values()):
        together |= problems
    return together


def _note(problems: dict[str, str], path: str, problem: str | None) -> None:
    if problem is None:
        problems.pop(path, None)
    elif problems.get(path) != problem:
        problems[path] = problem
        logger.warning("%s: %s", path, problem, extra=EACH)
