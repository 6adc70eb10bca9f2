"""Where the agent's own log goes: to stderr, as text at a terminal and as JSON elsewhere."""

import logging
import sys

from logs.formatters import JsonFormatter, TextFormatter
from logs.terminal import TerminalHandler


def set_up(level: str, form: str) -> TerminalHandler | None:
    """Set up logging; `level` and `form` (auto, text, json) are options. Return the handler if it writes text to a
    terminal, where progress may be shown below the log lines."""
    at_terminal = sys.stderr.isatty()
    as_text = form == "text" or (form == "auto" and at_terminal)
    terminal = TerminalHandler(sys.stderr) if as_text and at_terminal else None
    handler = terminal or logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # The watcher reports the same (an overflow, for instance) in the agent's own words.
    logging.getLogger("watchdog").setLevel(logging.ERROR)
    return terminal
