"""The commands of `shipper`, and what each prints."""

import argparse
import json
import logging
import os
import resource
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from config.errors import ConfigError
from config.load import load
from config.model import ShipperConfig
from config.permissions import check_permissions
from config.units import parse_duration
from registry.errors import RegistryError
from shipper import app, logs
from shipper.errors import StartError
from shipper.output_check import check_output
from shipper.positions.commands import add_registry_commands
from shipper.signals import StopSignals
from shipper.wake import Wake

logger = logging.getLogger(__name__)

FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (ConfigError, StartError, RegistryError) as error:
        print(error, file=sys.stderr)  # noqa: T201  # the logging may not be set up, or set to another level
        return FAILED
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.filename is None:
            # Whoever read the list has seen enough. Standard output is flushed once more at the end: not there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        print(f"{error.filename or 'shipper'}: {error.strerror or error}", file=sys.stderr)  # noqa: T201
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="shipper", description="Ships log files to Kafka.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="read files and ship them")
    run.add_argument(
        "--once", action="store_true", help="read every file to its end, wait for all acknowledgements, exit"
    )
    run.add_argument(
        "--once-timeout", type=_duration, default=float("inf"), metavar="TIME", help="give up --once after this, as 10m"
    )
    _add_common(run, _run)
    test = commands.add_parser("test", help="check the configuration or the output").add_subparsers(
        required=True, metavar="WHAT"
    )
    _add_common(test.add_parser("config", help="check the configuration"), _test_config)
    _add_common(test.add_parser("output", help="connect to the output, step by step"), _test_output)
    registry = commands.add_parser("registry", help="look at the registry, and change it while nothing runs")
    add_registry_commands(registry, _add_common, _context)
    commands.add_parser("version", help="print the version").set_defaults(command=_version)
    return parser


def _add_common(parser: argparse.ArgumentParser, command: object) -> None:
    parser.add_argument(
        "-c", dest="config", type=Path, default=Path("shipper.yml"), metavar="FILE", help="configuration"
    )
    parser.add_argument(
        "-E", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override an option"
    )
    parser.add_argument(
        "-e", dest="to_stderr", action="store_true", help="log to stderr as text (it always goes to stderr)"
    )
    parser.add_argument("--path.data", dest="data", type=Path, metavar="DIR", help="registry and dead letter live here")
    parser.add_argument(
        "--strict.perms",
        dest="strict",
        choices=["true", "false"],
        default="true",
        help="refuse a file others may write",
    )
    parser.set_defaults(command=command)


def _duration(text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _load(options: argparse.Namespace) -> ShipperConfig:
    if options.strict == "true":
        check_permissions(options.config)
    # As an override, because what the data path is matters to the checks: an input must not read it.
    data = [] if options.data is None else [f"path.data={json.dumps(str(options.data))}"]
    return load(options.config, ShipperConfig, [*options.overrides, *data])


def _data(options: argparse.Namespace, config: ShipperConfig | None) -> Path:
    if options.data is not None:
        return Path(options.data)
    return Path(config.path.data if config else "data")


def _run(options: argparse.Namespace) -> int:
    config = _load(options)
    terminal = logs.set_up(config.logging.level, "text" if options.to_stderr else config.logging.format)
    for note in config.notes:
        logger.info("%s", note)
    # Each open log file takes a descriptor, and the soft limit of 1,024 is often all that a service is given.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    wake = Wake()
    with StopSignals(wake.set) as signals:
        return app.run(
            config,
            _data(options, config),
            stopping=lambda: signals.stopping,
            wake=wake,
            once=options.once,
            once_timeout=options.once_timeout,
            terminal=terminal,
        )


def _test_config(options: argparse.Namespace) -> int:
    config = _load(options)
    app.check(config)
    for note in config.notes:
        print(note)  # noqa: T201
    print("Config OK")  # noqa: T201
    return 0


def _test_output(options: argparse.Namespace) -> int:
    return check_output(_load(options).output.chosen)


def _context(options: argparse.Namespace) -> tuple[ShipperConfig | None, Path]:
    """The registry can be looked at without a configuration, but not without knowing where it is."""
    if not options.config.exists() and options.data is None:
        raise StartError(f"{options.config} does not exist; give the configuration (-c FILE), or --path.data DIR")
    config = _load(options) if options.config.exists() else None
    return config, _data(options, config)


def _version(options: argparse.Namespace) -> int:
    print(f"shipper {version('log-shipper')}")  # noqa: T201
    return 0
