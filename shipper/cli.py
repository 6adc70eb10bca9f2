"""The commands of `shipper`. Only what the given command needs is imported: most of a short command's time is loading
modules."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from log_shipper import VERSION
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.registry.errors import RegistryError
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.command_line import NotSupported, normalized
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
    from log_shipper.shipper import logs

    logs.log_end(text)
    print(visible(text, keep), file=sys.stderr)  # noqa: T201  # logging may not be set up yet, or have another level
    return FAILED


def parse(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> argparse.Namespace:
    """Return the options of a command line. Raises SystemExit with the usage where it is not one."""
    parser, parsers = _without_options()
    try:
        words = normalized(arguments, COMMANDS)
    except NotSupported as error:
        parser.error(str(error))
    if words and words[0] in COMMANDS:
        COMMANDS[words[0]][1](parsers[words[0]])
    options = parser.parse_args(words)
    options.strict = getattr(options, "strict", None) or environ.get("BEAT_STRICT_PERMS", "true")
    return options


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser with the options of all commands, for the manual."""
    parser, parsers = _without_options()
    for name, (_, add_options) in COMMANDS.items():
        add_options(parsers[name])
    return parser


def _without_options() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser, and those of the commands, which have no options yet."""
    parser = argparse.ArgumentParser(
        prog="shipper", description="Ships log files to Kafka.", epilog="Without a command it runs."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog)
    return parser, {name: commands.add_parser(name, help=text) for name, (text, _) in COMMANDS.items()}


def _add_run(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.run_command import add_run_options

    add_run_options(parser)


def _add_tests(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.config_commands import add_tests

    add_tests(parser)


def _add_exports(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.config_commands import add_exports

    add_exports(parser)


def _add_migrate(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.config_commands import add_migrate_options

    add_migrate_options(parser)


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_schema)


def _schema(_: argparse.Namespace) -> int:
    from log_shipper.config.json_schema import schema_text
    from log_shipper.config.shipper.model import ShipperConfig

    sys.stdout.write(schema_text(ShipperConfig, "shipper.yml"))
    return 0


def _add_registry(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.positions.commands import add_registry_commands

    add_registry_commands(parser)


def _add_dead_letter(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.dead_letter_commands import add_dead_letter_commands

    add_dead_letter_commands(parser)


def _add_top(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.top.command import add_top_options

    add_top_options(parser)


def _add_tap(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.tap_command import add_tap_options

    add_tap_options(parser)


def _add_keystore(parser: argparse.ArgumentParser) -> None:
    from log_shipper.shipper.keystore_commands import add_keystore_commands

    add_keystore_commands(parser)


def _add_version(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_version)


def _version(_: argparse.Namespace) -> int:
    print(f"shipper {VERSION}")  # noqa: T201
    return 0


# By name: the line in the help, and what adds the command's options to its parser.
COMMANDS: Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("read files and ship them", _add_run),
    "test": ("check the configuration, the pipeline or the output", _add_tests),
    "export": ("print what is in effect", _add_exports),
    "migrate": ("print a filebeat.yml with today's names for old ones", _add_migrate),
    "schema": ("print the JSON schema of shipper.yml, for editors", _add_schema),
    "registry": ("show the registry, or change it while no agent runs", _add_registry),
    "dead-letter": ("show events that the output refused, or send them again", _add_dead_letter),
    "top": ("show what the running agent does, in the terminal", _add_top),
    "tap": ("show a sample of the events that the running agent sends", _add_tap),
    "keystore": ("keep secrets for ${NAME} in the configuration", _add_keystore),
    "version": ("print the version", _add_version),
    "help": ("print the help of a command", lambda _: None),  # `normalized` has made it --help
}
