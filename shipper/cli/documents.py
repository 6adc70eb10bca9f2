"""Commands that print a text and start nothing: `shipper export`, `migrate` and `schema`."""

import argparse
import sys
from pathlib import Path

from log_shipper import VERSION
from log_shipper.shipper.cli.options import add_shared, written
from log_shipper.shipper.options.model import ShipperConfig

PROJECT = "kafka-log-shipper"


def add_exports(parser: argparse.ArgumentParser) -> None:
    exports = parser.add_subparsers(required=True, metavar="WHAT")
    add_shared(exports.add_parser("config", help="print the effective configuration, with secrets masked"), _export)


def _export(options: argparse.Namespace) -> int:
    from log_shipper.config.export import export

    files, overrides = written(options)
    _print(export(files, ShipperConfig, overrides))
    return 0


def add_migrate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a configuration, or a file with a list of inputs")
    parser.add_argument(
        "--strict",
        dest="strict_names",
        action="store_true",
        help=(
            "use shipper.* names, which turn warnings about mistakes into errors, and remove Filebeat-only options "
            "such as setup.*"
        ),
    )
    parser.set_defaults(command=_migrate)


def _migrate(options: argparse.Namespace) -> int:
    from log_shipper.shipper.options.migration import migrate

    migrated = migrate(options.file, strict=options.strict_names)
    _print(migrated.text)
    count = len(migrated.changes)
    changes = f"{count} change{'s'[: count != 1]}" if count else "no old names found; nothing changed"
    for line in (*migrated.changes, f"{options.file}: {changes}; check the result: shipper test config -c FILE"):
        print(line, file=sys.stderr)  # noqa: T201
    return 0


def add_completion(parser: argparse.ArgumentParser) -> None:
    parser.description = "Prints a script: source <(shipper completion bash); shipper completion fish | source"
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(command=_completion)


def _completion(options: argparse.Namespace) -> int:
    from log_shipper.runtime.completion import completion
    from log_shipper.shipper.cli.commands import whole_parser

    _print(completion(whole_parser(), options.shell))
    return 0


def add_manual(parser: argparse.ArgumentParser) -> None:
    parser.description = "Prints a manual page: shipper manual | man -l -"
    parser.add_argument("page", nargs="?", choices=("shipper", "shipper.yml"), default="shipper")
    parser.set_defaults(command=_manual)


def _manual(options: argparse.Namespace) -> int:
    from log_shipper.runtime.manual import command_page, options_page
    from log_shipper.shipper.cli.commands import whole_parser
    from log_shipper.shipper.options.page import page

    if options.page == "shipper":
        text = command_page(whole_parser(), PROJECT, VERSION, "shipper.yml(5): shipper manual shipper.yml")
    else:
        text = options_page("shipper.yml", page(), PROJECT, VERSION)
    _print(text)
    return 0


def add_schema(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_schema)


def _schema(_: argparse.Namespace) -> int:
    from log_shipper.config.json_schema import schema_text

    _print(schema_text(ShipperConfig, "shipper.yml"))
    return 0


def _print(text: str) -> None:
    """Print the text. Raises OSError, which names standard output unless its reader closed it."""
    try:
        print(text, end="", flush=True)  # noqa: T201
    except BrokenPipeError:
        raise
    except OSError as error:
        from log_shipper.shipper.cli.commands import discard_output

        discard_output()
        raise OSError(error.errno, error.strerror, "standard output") from error
