"""The command lines of `spark-sink search` and `spark-sink ui`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from log_shipper.spark_sink.search.moments import Moment, parse_moment

LIMIT = 100
FOLLOWED = 10  # existing hits with --follow, like tail
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EPILOG = """\
TIME: how long ago (15m, 36h, 7d), a time or a date in ISO 8601 (UTC, unless it has a zone), now, today, yesterday.
Exit status: 0 if a line was found, 1 if none was, 2 after an error, as of grep. Examples: docs/guides/search.md."""


def add_parser(parsers: Parsers, command: Callable[[argparse.Namespace], int]) -> None:
    parser = parsers.add_parser(
        "search",
        help="find lines in the tables, newest first; needs neither Spark nor Java",
        description="Find lines in the tables, newest first.",
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
        help="the sink's configuration, which names the table; of a template all tables are searched (default: "
        "sink.yml)",
    )
    tables.add_argument(
        "--table",
        dest="tables",
        action="append",
        metavar="PATH",
        help="path of a table of lines; may be repeated to search several",
    )
    parser.add_argument(
        "-E", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override an option"
    )


def add_ui_parser(parsers: Parsers, command: Callable[[argparse.Namespace], int]) -> None:
    parser = parsers.add_parser(
        "ui",
        help="serve a web page to search the tables; needs neither Spark nor Java",
        description="Serve a web page to search the tables, until interrupted.",
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
        help="text in the message; in lower case it matches either case, otherwise exactly; without it all lines match",
    )
    parser.add_argument("--regex", action="store_true", help="the text is a regular expression (RE2)")
    case = parser.add_mutually_exclusive_group()
    case.add_argument("-i", "--ignore-case", action="store_true", help="ignore case")
    case.add_argument("-s", "--case-sensitive", action="store_true", help="match case")
    parser.add_argument("--since", type=_moment, metavar="TIME", help="lines at or after this time")
    parser.add_argument("--until", type=_moment, metavar="TIME", help="lines at or before this time")
    parser.add_argument(
        "--host", dest="hosts", action="append", default=[], metavar="GLOB", help="lines of this host; may be repeated"
    )
    parser.add_argument(
        "--path",
        dest="paths",
        action="append",
        default=[],
        metavar="GLOB",
        help="lines of files with this path, or with this name if it has no slash; may be repeated",
    )
    parser.add_argument(
        "--where", default="", metavar="SQL", help='a condition on the columns in DuckDB SQL: "status >= 500"'
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=_count,
        metavar="N",
        help=f"stop after N matches; 0 for all (default: {LIMIT}). With --follow: the number of existing lines to "
        f"print first (default: {FOLLOWED})",
    )
    parser.add_argument(
        "-C",
        "--context",
        type=_count,
        default=0,
        metavar="N",
        help="print N lines of the file before and after each match",
    )
    parser.add_argument("-f", "--follow", action="store_true", help="wait for new rows and print them as they land")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each line, with all columns")
    parser.add_argument(
        "--local", action="store_true", help="read and print times in this machine's time zone instead of UTC"
    )


def _moment(text: str) -> Moment:
    try:
        return parse_moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: use 0 (any free port) to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines")
    return int(text)
