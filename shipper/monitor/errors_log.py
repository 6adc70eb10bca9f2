"""Which warnings and errors of the agent's log /status shows."""

import re

from log_shipper.runtime.logs.recent import RecentMessages

NUMBER = re.compile(r"\d+")
LONGEST = 1000  # characters


def errors_log() -> RecentMessages:
    """Return the handler for the root logger. Lines that differ in their numbers only are repeats."""
    return RecentMessages(lambda message: message[:LONGEST], lambda text: NUMBER.sub("#", text))
