"""`shipper top`: its options and start."""

import argparse
import math
import os
import shutil
import sys

from log_shipper.config.text.units import parse_duration
from log_shipper.runtime.http import Place
from log_shipper.runtime.logs.visible import visible
from log_shipper.runtime.monitor.client import get, place_of
from log_shipper.shipper.cli.options import add_shared, argument, data_path_alone
from log_shipper.shipper.monitor.running_agent import errors_in_words, socket_of
from log_shipper.shipper.top.frame import render
from log_shipper.shipper.top.text import plain
from log_shipper.shipper.top.view import View
from log_shipper.shipper.top.watch import PATH, PATIENCE, Watch, ask

WIDTH = 100  # columns without a terminal


def add_top_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Shows the running agent: health, figures with rates, charts, files furthest behind, errors."
    parser.add_argument(
        "--once", action="store_true", help="print once as text and exit; the default without a terminal"
    )
    parser.add_argument("--json", action="store_true", help="print the state once as JSON, as in /status")
    parser.add_argument(
        "--url",
        type=argument(place_of),
        metavar="URL",
        help="query this HTTP endpoint, such as http://web-1:5066, of a shipper or sink",
    )
    parser.add_argument(
        "--interval", type=_interval, default=1.0, metavar="TIME", help="refresh interval (default 1s, at least 0.5s)"
    )
    add_shared(parser, top)


def _interval(text: str) -> float:
    interval = argument(parse_duration)(text)
    if not 0.5 <= interval < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is less than 0.5s")
    return interval


def top(options: argparse.Namespace) -> int:
    place: Place = options.url or socket_of(data_path_alone(options))
    if options.json:
        with errors_in_words(place):
            print(visible(get(place, PATH, PATIENCE).decode()))  # noqa: T201
        return 0
    terminal = os.environ.get("TERM", "")
    if options.once or not (sys.stdout.isatty() and sys.stdin.isatty()) or terminal in ("", "dumb"):
        document = ask(place)
        width = shutil.get_terminal_size((WIDTH, 0)).columns
        text = plain(render(View(str(place), document), width))
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        return 0
    from log_shipper.shipper.top import screen  # curses, which --once does not need

    view = View(str(place), glyphs=screen.glyphs_of(sys.stdout.encoding or "", terminal))
    watch = Watch(place, options.interval)
    watch.start()
    try:
        screen.run(view, lambda: watch.latest)
    finally:
        watch.stop()
    return 0
