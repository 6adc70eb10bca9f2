"""The commands of `shipper`. Only what the given command needs is imported: most of a short command's time is loading
modules."""

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
            # The reader of the output has closed the pipe. Python flushes standard output at exit: to /dev/null.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        return _failed(f"{error.filename or 'shipper'}: {error.strerror or error}")


def _failed(text: str, keep: str = "") -> int:
    from log_shipper.runtime.logs.journal import report
    from log_shipper.runtime.logs.visible import visible
    from log_shipper.shipper.agent import logs

    logs.log_end(text)
    report(visible(text, keep), sys.stderr)
    return FAILED


class ProgramParser(argparse.ArgumentParser):
    """Its help ends with the options that all commands share."""

    def format_help(self) -> str:
        from log_shipper.shipper.cli.options import shared_help  # most of a short command's time is loading modules

        return f"{super().format_help()}\n{shared_help()}"


def parse(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> argparse.Namespace:
    """Return the options of a command line. Raises SystemExit with the usage where it is not one."""
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
    """Return the parser, and those of the commands, which have no options yet."""
    parser = ProgramParser(prog="shipper", description="Ships log files to Kafka.", epilog="Without a command it runs.")
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


# By name: the line in the help, and what adds the command's options to its parser, a function of a module of this
# package.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("write a first configuration for this host", "init:add_init_options"),
    "run": ("read files and ship them", "run:add_run_options"),
    "test": ("check the configuration, the pipeline or the output", "checks:add_tests"),
    "export": ("print what is in effect", "documents:add_exports"),
    "migrate": ("print a filebeat.yml with today's names for old ones", "documents:add_migrate_options"),
    "completion": ("print a completion of the command line for a shell", "documents:add_completion"),
    "manual": ("print a manual page, for man -l -", "documents:add_manual"),
    "schema": ("print the JSON schema of shipper.yml, for editors", "documents:add_schema"),
    "registry": ("show the registry, or change it while no agent runs", "positions:add_registry_commands"),
    "dead-letter": ("show events that the output refused, or send them again", "dead_letters:add_dead_letter_commands"),
    "top": ("show what the running agent does, in the terminal", "top:add_top_options"),
    "tap": ("show a sample of the events that the running agent sends", "tap:add_tap_options"),
    "keystore": ("keep secrets for ${NAME} in the configuration", "keystore:add_keystore_commands"),
    "version": ("print the version", "commands:add_version"),
    "help": ("print the help of a command", ""),  # `normalized` has made it --help
}
