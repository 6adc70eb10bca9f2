"""The last warnings and errors of the sink's log, for its page."""

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass, replace

MOST = 20
LONGEST = 600  # characters

# Spark's errors have a class, as [CAST_INVALID_INPUT], and what follows may quote a value of a row. The page is open to
# more people than the log.
_SPARK_ERROR = re.compile(r"(\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\]).*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problem:
    """A message, and how often it was logged; `time`: of the last one, seconds of the epoch."""

    time: float
    level: str
    message: str
    count: int = 1


class RecentProblems(logging.Handler):
    """Keeps the last messages of at least level WARNING, equal ones once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._problems: OrderedDict[tuple[str, str], Problem] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        key = record.levelname.lower(), shown(record.getMessage())
        count = self._problems.pop(key).count + 1 if key in self._problems else 1
        self._problems[key] = Problem(record.created, *key, count)
        while len(self._problems) > MOST:
            self._problems.popitem(last=False)

    def newest_first(self) -> list[Problem]:
        self.acquire()
        try:
            return [replace(problem) for problem in reversed(self._problems.values())]
        finally:
            self.release()


def shown(message: str) -> str:
    """Return the message without what Spark quotes of a row, and not longer than a person reads."""
    text = _SPARK_ERROR.sub(r"\1 (the log has the rest)", message)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
