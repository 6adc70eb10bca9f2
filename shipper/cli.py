"""The commands of `shipper`, and what each prints."""

import argparse
import json
import logging
import os
import resource
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from config.shipper.model import ShipperConfig
from config.text.units import parse_duration
from config.yaml.errors import ConfigError
from config.yaml.files import check_permissions
from config.yaml.load import load
from logs.visible import visible
from registry.errors import RegistryError
from shipper import app, logs
from shipper.command_line import NotSupported, normalized
from shipper.config_commands import ConfigCommands
from shipper.dead_letter_commands import add_dead_letter_commands
from shipper.errors import StartError
from shipper.output_check import check_output, examine
from shipper.positions.commands import add_registry_commands
from shipper.reload import ConfigSource, log_findings
from shipper.signals import Signals
from shipper.wake import Wake

logger = logging.getLogger(__name__)

FAILED = 1
DEFAULT = Path("shipper.yml")
OF_FILEBEAT = Path("filebeat.yml")
PATHS = ("home", "config", "logs")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(options.command(options))
    except (ConfigError, StartError, RegistryError) as error:
        logs.log_end(str(error))
        print(visible(str(error), keep="\n"), file=sys.stderr)  # noqa: T201  # logging may not be set up yet, or have another level
        return FAILED
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.filename is None:
            # The reader of the output has closed the pipe. Python flushes standard output at exit: to /dev/null.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        text = f"{error.filename or 'shipper'}: {error.strerror or error}"
        logs.log_end(text)
        print(visible(text), file=sys.stderr)  # noqa: T201
        return FAILED


def parse(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> argparse.Namespace:
    """Return the options of a command line. Raises SystemExit with the usage where it is not one."""
    parser, commands = _parser()
    try:
        options = parser.parse_args(normalized(arguments, commands))
    except NotSupported as error:
        parser.error(str(error))
    options.strict = getattr(options, "strict", None) or environ.get("BEAT_STRICT_PERMS", "true")
    return options


def _parser() -> tuple[argparse.ArgumentParser, Collection[str]]:
    """Return the parser, and the names of the commands."""
    parser = argparse.ArgumentParser(
        prog="shipper", description="Ships log files to Kafka.", epilog="Without a command it runs."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="read files and ship them")
    run.add_argument(
        "--once", action="store_true", help="read every file to its end, wait for all acknowledgements, exit"
    )
    run.add_argument(
        "--once-timeout", type=_duration, default=float("inf"), metavar="TIME", help="give up --once after this, as 10m"
    )
    _add_common(run, _run)
    test = commands.add_parser("test", help="check the configuration, the pipeline or the output").add_subparsers(
        required=True, metavar="WHAT"
    )
    looking = ConfigCommands(_load, _written)
    looking.add_tests(test, _add_common)
    exports = commands.add_parser("export", help="print what is in effect").add_subparsers(
        required=True, metavar="WHAT"
    )
    looking.add_exports(exports, _add_common)
    _add_common(test.add_parser("output", help="connect to the output, step by step"), _test_output)
    looking.add_migrate(commands)
    registry = commands.add_parser("registry", help="show the registry, or change it while no agent runs")
    add_registry_commands(registry, _add_common, _context)
    letters = commands.add_parser("dead-letter", help="show events that the output refused, or send them again")
    add_dead_letter_commands(letters, _add_common, _context)
    secrets = commands.add_parser("keystore", help="keep secrets for ${NAME} in the configuration")
    looking.add_keystore(secrets, _add_common)
    commands.add_parser("version", help="print the version").set_defaults(command=_version)
    commands.add_parser("help", help="print the help of a command")  # `normalized` has made it --help
    return parser, commands.choices


def _add_common(parser: argparse.ArgumentParser, command: object) -> None:
    parser.add_argument(
        "-c",
        dest="configs",
        type=Path,
        action="append",
        metavar="FILE",
        help=f"configuration, below path.config (default {DEFAULT}, then {OF_FILEBEAT}); of several the later ones win",
    )
    parser.add_argument(
        "-E", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override an option"
    )
    parser.add_argument(
        "-e", dest="to_stderr", action="store_true", help="log to stderr as text, whatever `logging` has"
    )
    parser.add_argument("-v", dest="level", action="store_const", const="info", help="log from level info on")
    parser.add_argument(
        "-d", dest="debugged", metavar="SELECTORS", help="log from level debug on, whatever the selectors are"
    )
    parser.add_argument(
        "--environment",
        metavar="NAME",
        help="accepted as Filebeat's: without logging.to_files, logs go to stderr anywhere",
    )
    parser.add_argument(
        "--path.data", dest="data", type=Path, metavar="DIR", help="directory of the registry and of the dead letters"
    )
    for name in PATHS:
        parser.add_argument(f"--path.{name}", dest=f"path_{name}", metavar="DIR", help=f"same as -E path.{name}=DIR")
    parser.add_argument(
        "--strict.perms",
        dest="strict",
        choices=["true", "false"],
        help="refuse a file that others may write (BEAT_STRICT_PERMS=false has the same effect)",
    )
    parser.set_defaults(command=command)


def _duration(text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _files(options: argparse.Namespace) -> list[Path]:
    """Return the configuration files. As Filebeat's, they are relative to path.config where the command line has it."""
    directory = Path(options.path_config or "")
    if not options.configs and not (directory / DEFAULT).exists() and (directory / OF_FILEBEAT).exists():
        return [directory / OF_FILEBEAT]
    return [directory / file for file in options.configs or [DEFAULT]]


def _load(options: argparse.Namespace) -> ShipperConfig:
    """Return the configuration. Raises ConfigError, also for what is wrong with the files that the output needs."""
    return _read(options, examined=True)


def _read(options: argparse.Namespace, *, examined: bool) -> ShipperConfig:
    check = check_permissions if options.strict != "false" else lambda file: None
    for file in _files(options):
        check(file)
    files, overrides = _written(options)
    config = load(files, ShipperConfig, overrides, examine=examine if examined else None)
    for file in config.config_inputs.files():
        check(file)
    return config


def _written(options: argparse.Namespace) -> tuple[list[Path], list[str]]:
    """Return the configuration files, and what overrides them."""
    # The paths are overrides, because the checks need the data path: an input must not read it.
    given = {"data": options.data} | {name: getattr(options, f"path_{name}") for name in PATHS}
    paths = [f"path.{name}={json.dumps(str(path))}" for name, path in given.items() if path is not None]
    level = "debug" if options.debugged is not None else options.level
    levels = [f"logging.level={level}"] if level is not None else []
    return _files(options), [*levels, *options.overrides, *paths]


def _load_checked(options: argparse.Namespace) -> ShipperConfig:
    config = _load(options)
    app.check(config)
    return config


def _data(options: argparse.Namespace, config: ShipperConfig | None) -> Path:
    if options.data is not None:
        return Path(options.data)
    return Path(config.path.data if config else "data")


def _run(options: argparse.Namespace) -> int:
    wake = Wake()
    # Before the configuration is read: a SIGHUP from now on requests a reload.
    with Signals(wake.set, reloads=not options.once) as signals:
        config = _load(options)
        terminal = logs.set_up(config.logging, config.path.logs, to_stderr=options.to_stderr)
        log_findings(config)
        # Each open log file takes a descriptor, and the soft limit of a service is often only 1,024.
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        reading = ConfigSource(
            read=lambda: _load_checked(options), is_requested=signals.hung_up, wake=wake.from_outside()
        )
        environment = app.Environment(
            _data(options, config), wake, once=options.once, reading=None if options.once else reading
        )
        return app.run(
            config,
            environment,
            stopping=lambda: signals.stopping,
            once_timeout=options.once_timeout,
            terminal=terminal,
        )


def _test_output(options: argparse.Namespace) -> int:
    return check_output(_load(options).output.chosen)


def _context(options: argparse.Namespace) -> tuple[ShipperConfig | None, Path]:
    """Return the configuration, None if there is none, and the data path. The registry can be shown without a
    configuration, but not without knowing where it is."""
    missing = next((file for file in _files(options) if not file.exists()), None)
    if missing is not None and options.data is None:
        raise StartError(f"{missing} does not exist; give the configuration (-c FILE), or --path.data DIR")
    config = _read(options, examined=False) if missing is None else None
    return config, _data(options, config)


def _version(options: argparse.Namespace) -> int:
    print(f"shipper {version('log-shipper')}")  # noqa: T201
    return 0
