"""The commands of `shipper`. Only the modules of the given command are imported: loading modules takes most of a short
command's time.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from log_shipper import VERSION
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.registry.errors import RegistryError
from log_shipper.shipper.cli.command_line import NotSupported, normalized
from log_shipper.shipper.cli.parser import CommandParser
from log_shipper.shipper.errors import StartError

FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(options.command(options))
    except (ConfigError, StartError, RegistryError) as error:
        return _failed(str(error), keep="\n")
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.filename is None:
            discard_output()  # its reader closed the pipe
            return FAILED
        return _failed(f"{error.filename or 'shipper'}: {error.strerror or error}")


def discard_output() -> None:
    """Redirect standard output, which cannot be written, to /dev/null: Python flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(text: str, keep: str = "") -> int:
    from log_shipper.runtime.logs.journal import report
    from log_shipper.runtime.logs.visible import visible
    from log_shipper.shipper.agent import logs

    logs.log_end(text)
    report(visible(text, keep), sys.stderr)
    return FAILED


class ProgramParser(argparse.ArgumentParser):
    """A parser whose help ends with the options of all commands."""

    def format_help(self) -> str:
        from log_shipper.shipper.cli.options import shared_help  # loading modules takes most of a short command's time

        return f"{super().format_help()}\n{shared_help()}"


def parse(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> argparse.Namespace:
    """Parse the command line. Raises SystemExit with the usage if it is invalid."""
    parser, parsers = _without_options()
    try:
        words = normalized(arguments, COMMANDS)
    except NotSupported as error:
        parser.error(str(error))
    if words and words[0] in COMMANDS:
        _add_options(words[0], parsers[words[0]])
    options = parser.parse_args(words)
    options.strict = getattr(options, "strict", None) or environ.get("BEAT_STRICT_PERMS", "true")
    return options


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser with the options of all commands, for the manual."""
    parser, parsers = _without_options()
    for name in COMMANDS:
        _add_options(name, parsers[name])
    return parser


def _without_options() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser and the commands' parsers, which have no options yet."""
    parser = ProgramParser(
        prog="shipper", description="Ships log files to Kafka.", epilog="Without a command, `run` is executed."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog, parser_class=CommandParser)
    return parser, {name: commands.add_parser(name, help=text) for name, (text, _) in COMMANDS.items()}


def add_version(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_version)


def _version(_: argparse.Namespace) -> int:
    print(f"shipper {VERSION}")  # noqa: T201
    return 0


def _add_options(name: str, parser: argparse.ArgumentParser) -> None:
    module, _, function = COMMANDS[name][1].partition(":")
    if module:
        getattr(import_module(f"log_shipper.shipper.cli.{module}"), function)(parser)


# By command: its line in the help, and the function, in a module of this package, that adds its options.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("write a first configuration for this host", "init:add_init_options"),
    "run": ("read and ship files", "run:add_run_options"),
    "test": ("check the configuration, pipeline or output", "checks:add_tests"),
    "export": ("print the effective configuration", "documents:add_exports"),
    "migrate": ("convert a filebeat.yml to current option names", "documents:add_migrate_options"),
    "completion": ("print a shell completion script", "documents:add_completion"),
    "manual": ("print a manual page, for man -l -", "documents:add_manual"),
    "schema": ("print the JSON schema of shipper.yml for editors", "documents:add_schema"),
    "registry": ("show the registry, or edit it while no agent runs", "positions:add_registry_commands"),
    "dead-letter": ("show rejected events, or resend them", "dead_letters:add_dead_letter_commands"),
    "top": ("show the running agent in the terminal", "top:add_top_options"),
    "tap": ("show a sample of the running agent's events", "tap:add_tap_options"),
    "keystore": ("store secrets for ${NAME} in the configuration", "keystore:add_keystore_commands"),
    "version": ("print the version", "commands:add_version"),
    "help": ("print help for a command", ""),  # `normalized` turned it into --help
}
