"""The command line of `spark-sink search`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from log_shipper.spark_sink.search.moments import Moment, parse_moment

LIMIT = 100
FOLLOWED = 10  # hits before what is followed, as in tail
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EPILOG = """\
TIME: how long ago (15m, 36h, 7d), a time or a date in ISO 8601 (UTC, unless it has a zone), now, today, yesterday.
Exit status: 0 if a line was found, 1 if none was, 2 after an error, as of grep. Examples: docs/guides/querying.md."""


def add_parser(parsers: Parsers, command: Callable[[argparse.Namespace], int]) -> None:
    parser = parsers.add_parser(
        "search",
        help="find lines in the tables, newest first; needs neither Spark nor Java",
        description="Find lines in the tables, the newest first.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    _add_tables(parser)
    _add_conditions(parser)
    _add_output(parser)


def _add_tables(parser: argparse.ArgumentParser) -> None:
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument(
        "-c",
        "--config",
        dest="files",
        type=Path,
        action="append",
        metavar="FILE",
        help="the sink's configuration, which has the table; of a template all tables are searched (default: sink.yml)",
    )
    tables.add_argument(
        "--table", dest="tables", action="append", metavar="PATH", help="a table of lines, by its path; several are one"
    )
    parser.add_argument(
        "-E", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override an option"
    )


def add_ui_parser(parsers: Parsers, command: Callable[[argparse.Namespace], int]) -> None:
    parser = parsers.add_parser(
        "ui",
        help="serve a page on which people search the tables; needs neither Spark nor Java",
        description="Serve a page on which people search the tables, until it is interrupted.",
    )
    parser.set_defaults(command=command)
    _add_tables(parser)
    parser.set_defaults(debugged=None)
    parser.add_argument("--port", type=_port, metavar="N", help="listen on this port instead of `ui.port`")


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text",
        nargs="?",
        default="",
        help="what the message contains; in lower case it is found in either, otherwise as it is; without it any line",
    )
    parser.add_argument("--regex", action="store_true", help="the text is a regular expression (RE2)")
    case = parser.add_mutually_exclusive_group()
    case.add_argument("-i", "--ignore-case", action="store_true", help="upper and lower case are the same")
    case.add_argument("-s", "--case-sensitive", action="store_true", help="upper and lower case differ")
    parser.add_argument("--since", type=_moment, metavar="TIME", help="lines of this time and later")
    parser.add_argument("--until", type=_moment, metavar="TIME", help="lines of this time and earlier")
    parser.add_argument(
        "--host", dest="hosts", action="append", default=[], metavar="GLOB", help="of this host; of several, any"
    )
    parser.add_argument(
        "--path",
        dest="paths",
        action="append",
        default=[],
        metavar="GLOB",
        help="of files with this path, or this name if there is no slash in it; of several, any",
    )
    parser.add_argument(
        "--where", default="", metavar="SQL", help='a condition on the columns, as DuckDB has it: "status >= 500"'
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=_count,
        metavar="N",
        help=f"end after N lines that match; 0 for all; {LIMIT} without it. With --follow: how many come first, "
        f"{FOLLOWED} without it",
    )
    parser.add_argument(
        "-C", "--context", type=_count, default=0, metavar="N", help="with N lines of the file before and after each"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="then wait for new rows, and print them as they land"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object for each line, with all columns")
    parser.add_argument("--local", action="store_true", help="times are read and shown in this machine's zone, not UTC")


def _moment(text: str) -> Moment:
    try:
        return parse_moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: it may be 0 (any free one) to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines")
    return int(text)
