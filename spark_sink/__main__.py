"""The command `spark-sink`, also `python -m log_shipper.spark_sink`.

Exit codes: 0 the command is complete, or a signal stopped it; 1 the configuration is wrong, or the job cannot continue
(the last line on stderr has the reason); 2 the command line is wrong; 130 interrupted from the keyboard.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from log_shipper import VERSION
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.runtime.logs.journal import report
from log_shipper.spark_sink import commands
from log_shipper.spark_sink.search.arguments import add_parser as add_search
from log_shipper.spark_sink.search.arguments import add_ui_parser as add_ui

INTERRUPTED = 130  # like a shell: 128 + SIGINT
DEFAULT = Path("sink.yml")
PROJECT = "kafka-log-shipper"
Command = Callable[[argparse.Namespace], int]
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    options = whole_parser().parse_args(_rewritten(sys.argv[1:] if arguments is None else arguments))
    if getattr(options, "files", ()) is None and not getattr(options, "tables", None):
        options.files = [DEFAULT]
    try:
        code = int(options.command(options))
        sys.stdout.flush()  # here, where a closed pipe is not an error
        return code
    except ConfigError as error:
        report(str(error), sys.stderr)  # the log cannot be set up without a configuration
        return 1
    except BrokenPipeError:
        # The reader of the output has closed the pipe. Python's flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        # Before the sink handles signals, and in other commands. Uncommitted work has no effect.
        print("interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED


def whole_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "spark-sink", description="Lands Kafka topics of log lines in Delta tables, each line once."
    )
    parser.add_argument("--version", action="version", version=f"spark-sink {VERSION}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    run = _add(parsers, "run", commands.run, "read the topics and write the tables until stopped")
    run.add_argument(
        "--available-now",
        action="store_true",
        help="land the records that the topics have now, then exit; overrides `stop`",
    )
    maintain = _add(
        parsers,
        "maintain",
        commands.maintain,
        "compact small files and delete old rows and unneeded files; `run` may be running",
    )
    _add_dry_run(maintain)
    maintain.add_argument("--json", action="store_true", help="print a JSON object for each step, on standard output")
    status = _add(parsers, "status", commands.status, "show the progress of each partition and the size of the tables")
    status.add_argument("--json", action="store_true", help="as one JSON object, for programs")
    add_search(parsers, commands.search)
    add_ui(parsers, commands.ui)
    _add_repair(parsers)
    test = parsers.add_parser("test", help="check the configuration, or the systems that it connects to")
    tests = test.add_subparsers(required=True, metavar="WHAT")
    checked = "check the configuration and the SQL of views, without connecting to anything"
    config = _add(tests, "config", commands.check_config, checked)
    config.add_argument("--json", action="store_true", help="print the findings as one JSON object")
    _add(tests, "output", commands.check_output, "connect to Kafka and to the storage of the tables, step by step")
    export = parsers.add_parser("export", help="print the effective configuration or its schema").add_subparsers(
        required=True, metavar="WHAT"
    )
    _add(export, "config", commands.export_config, "print the configuration in effect, secrets masked")
    schema = parsers.add_parser("schema", help="print the JSON schema of sink.yml, for editors")
    schema.set_defaults(command=commands.print_schema)
    completion = parsers.add_parser("completion", help="print a completion script for a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    completion.set_defaults(command=_completion)
    manual = parsers.add_parser("manual", help="print a manual page, for man -l -")
    manual.add_argument("page", nargs="?", choices=("spark-sink", "sink.yml"), default="spark-sink")
    manual.set_defaults(command=_manual)
    parsers.add_parser("version", help="print the version").set_defaults(command=_version)
    return parser


def _add_repair(parsers: Parsers) -> None:
    repair = _add(parsers, "repair", commands.repair, "land bad records or missing rows again")
    what = repair.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--reason",
        type=_reason,
        metavar="TEXT",
        help="parse bad records whose reason contains this text again, and move the good ones to the table",
    )
    what.add_argument(
        "--from-kafka", action="store_true", help="land rows that a table lacks and Kafka still has, as after a RESTORE"
    )
    _add_dry_run(repair)


def _add(parsers: Parsers, name: str, command: Command, summary: str) -> argparse.ArgumentParser:
    parser = parsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.add_argument(
        "-c",
        "--config",
        dest="files",
        type=Path,
        action="append",
        metavar="FILE",
        help="configuration file (YAML); may be repeated, later files override earlier ones (default: sink.yml)",
    )
    parser.add_argument(
        "-E", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override an option"
    )
    parser.add_argument(
        "-d",
        dest="debugged",
        metavar="COMPONENTS",
        help="enable debug logs of these components (logging.selectors): names separated by commas, '*' for all",
    )
    parser.set_defaults(command=command)
    return parser


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print the planned actions without changing anything")


def _reason(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty; `spark-sink status` shows the existing reasons")
    return text


def _rewritten(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with `help COMMAND` changed to `COMMAND --help`."""
    return [*arguments[1:], "--help"] if arguments[:1] == ["help"] else [*arguments]


def _completion(options: argparse.Namespace) -> int:
    from log_shipper.runtime.completion import completion

    print(completion(whole_parser(), options.shell), end="")  # noqa: T201
    return 0


def _manual(options: argparse.Namespace) -> int:
    from log_shipper.runtime.manual import command_page, options_page
    from log_shipper.spark_sink.options.page import page

    if options.page == "spark-sink":
        text = command_page(whole_parser(), PROJECT, VERSION, "sink.yml(5): spark-sink manual sink.yml")
    else:
        text = options_page("sink.yml", page(), PROJECT, VERSION)
    print(text, end="")  # noqa: T201
    return 0


def _version(_: argparse.Namespace) -> int:
    print(f"spark-sink {VERSION}")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
