"""Which warnings and errors of the sink's log its page shows."""

import re

from log_shipper.runtime.logs.recent import RecentMessages

LONGEST = 600  # characters

# Spark's errors have a class, as [CAST_INVALID_INPUT], and what follows may quote a value of a row. The page is open to
# more people than the log.
_SPARK_ERROR = re.compile(r"(\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\]).*", re.DOTALL)


def recent_problems() -> RecentMessages:
    """Return the handler for the sink's loggers."""
    return RecentMessages(shown)


def shown(message: str) -> str:
    """Return the message without what Spark quotes of a row, and not longer than a person reads."""
    text = _SPARK_ERROR.sub(r"\1 (the log has the rest)", message)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
