"""The terminal: draws the lines of a view with curses, and reads keys. `frame` decides what is drawn."""

import curses
import locale
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.top.charts import ASCII, BLOCKS, CONSOLE, Glyphs
from log_shipper.shipper.top.frame import render
from log_shipper.shipper.top.text import Line, Style
from log_shipper.shipper.top.view import View
from log_shipper.shipper.top.watch import Latest

WAIT = 200  # milliseconds to wait for a key before checking for new data
MAX_FAILURES = 50  # reads that fail at once, after which the terminal counts as closed

KEYS = {
    curses.KEY_LEFT: "left",
    curses.KEY_RIGHT: "right",
    curses.KEY_UP: "up",
    curses.KEY_DOWN: "down",
    curses.KEY_PPAGE: "page up",
    curses.KEY_NPAGE: "page down",
    curses.KEY_HOME: "home",
    curses.KEY_END: "end",
    curses.KEY_BTAB: "backtab",
    ord("\t"): "tab",
}
COLOURS: Mapping[Style, int] = {
    "good": curses.COLOR_GREEN,
    "warn": curses.COLOR_YELLOW,
    "bad": curses.COLOR_RED,
    "first": curses.COLOR_CYAN,
    "second": curses.COLOR_GREEN,
    "third": curses.COLOR_MAGENTA,
}


def glyphs_of(encoding: str, terminal: str) -> Glyphs:
    """Return the characters that the terminal can show."""
    if not encoding.lower().replace("-", "").startswith("utf8") or terminal.startswith("vt"):
        return ASCII
    return CONSOLE if terminal == "linux" else BLOCKS


def run(view: View, latest: Callable[[], Latest], environ: Mapping[str, str] = os.environ) -> None:
    """Draw until the user quits. Raises StartError for a terminal that curses does not support."""
    locale.setlocale(locale.LC_ALL, "")  # otherwise, curses writes only ASCII
    os.environ.setdefault("ESCDELAY", "25")  # milliseconds; the default after Escape is a second
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))  # curses restores the terminal only at SIGINT and SIGTERM
    try:
        curses.setupterm()
        with _window() as window:
            Screen(window, colours=not environ.get("NO_COLOR")).run(view, latest)
    except curses.error as error:
        terminal = environ.get("TERM", "")
        raise StartError(
            f"the terminal cannot be used (TERM={terminal}): {error}; try TERM=xterm, or --once, which prints "
            "once and exits"
        ) from error
    except KeyboardInterrupt:
        pass


@contextmanager
def _window() -> Iterator[curses.window]:
    """Run as curses.wrapper, which sets colours even if they are disabled."""
    window = curses.initscr()
    try:
        curses.noecho()
        curses.cbreak()
        window.keypad(True)
        yield window
    finally:
        curses.endwin()


class Screen:
    def __init__(self, window: curses.window, *, colours: bool) -> None:
        self._window = window
        self._attributes = _attributes(colours=colours)
        self._encoding = locale.getpreferredencoding(False)
        window.timeout(WAIT)
        with suppress(curses.error):  # a terminal whose cursor cannot be hidden
            curses.curs_set(0)

    def run(self, view: View, latest: Callable[[], Latest]) -> None:
        shown: View | None = None
        failures = 0
        while failures < MAX_FAILURES:
            received = latest()
            view = view.updated(received.document, received.problem)
            if self._is_resized() or (view is not shown and view != shown):
                self._draw(view)
                shown = view
            began = time.monotonic()
            key = self._window.getch()
            if key == curses.KEY_RESIZE:
                curses.update_lines_cols()
                shown = None
            elif key != -1:
                failures = 0
                pressed = view.pressed(KEYS.get(key) or (chr(key) if 0 < key < 127 else ""))
                if pressed is None:
                    return
                view = pressed
            # On a closed terminal, reads fail at once: the loop would use the processor forever.
            elif time.monotonic() - began < WAIT / 4000:
                failures += 1
            else:
                failures = 0

    def _is_resized(self) -> bool:
        """Adopt the terminal's new size. Curses gets it by a signal, which another thread may receive."""
        with suppress(OSError, curses.error):  # the terminal is closed: reading fails, too
            columns, lines = os.get_terminal_size(sys.stdout.fileno())
            if (lines, columns) != self._window.getmaxyx():
                curses.resizeterm(lines, columns)
                return True
        return False

    def _draw(self, view: View) -> None:
        height, width = self._window.getmaxyx()
        self._window.erase()
        # Without the last column: some terminals wrap after it.
        for number, line in enumerate(render(view, max(width - 1, 1), height)):
            self._draw_line(number, line)
        self._window.refresh()

    def _draw_line(self, number: int, line: Line) -> None:
        try:
            self._window.move(number, 0)
            for span in line:
                text = span.text.encode(self._encoding, "replace").decode(self._encoding)
                self._window.addstr(text, self._attributes[span.style])
        except curses.error:  # the terminal became smaller meanwhile: the next frame fits
            pass


def _attributes(*, colours: bool) -> Mapping[Style, int]:
    attributes: dict[Style, int] = {
        "plain": curses.A_NORMAL,
        "bold": curses.A_BOLD,
        "dim": curses.A_DIM,
        "selected": curses.A_REVERSE,
        "good": curses.A_BOLD,
        "warn": curses.A_BOLD,
        "bad": curses.A_BOLD | curses.A_REVERSE,
        "first": curses.A_NORMAL,
        "second": curses.A_NORMAL,
        "third": curses.A_NORMAL,
    }
    if colours and curses.has_colors():
        curses.start_color()
        curses.use_default_colors()
        for number, (style, colour) in enumerate(COLOURS.items(), 1):
            curses.init_pair(number, colour, -1)
            attributes[style] |= curses.color_pair(number)
    return attributes
