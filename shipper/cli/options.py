"""The options that all commands share, and the configuration that they name."""

import argparse
import json
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeVar

from log_shipper.config.yaml.document import Override
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.files import check_permissions
from log_shipper.config.yaml.load import load, read, variables_of
from log_shipper.config.yaml.report import Examination
from log_shipper.shipper.cli.parser import CommandParser
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig

Parsed = TypeVar("Parsed")

DEFAULT = Path("shipper.yml")
OF_FILEBEAT = Path("filebeat.yml")
PATHS = ("home", "config", "logs")


def add_shared(parser: argparse.ArgumentParser, command: object) -> None:
    """Add the shared options and the function that runs the command."""
    own = len(parser._actions)
    _add_options(parser)
    parser.set_defaults(command=command)
    if isinstance(parser, CommandParser):
        parser.shared = tuple(parser._actions[own:])


def argument(parse: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    """Return the parser as a `type` of argparse, which shows the text of its ValueError."""

    def parsed(text: str) -> Parsed:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def shared_help() -> str:
    """Return the help of the shared options."""
    parser = argparse.ArgumentParser(add_help=False, usage=argparse.SUPPRESS)
    _add_options(parser)
    return parser.format_help().replace("options:", "options of all commands:", 1)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c",
        dest="configs",
        type=Path,
        action="append",
        metavar="FILE",
        help=(
            f"configuration, relative to path.config (default {DEFAULT}, then {OF_FILEBEAT}); later files override "
            "earlier ones"
        ),
    )
    parser.add_argument(
        "-E", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override an option"
    )
    parser.add_argument(
        "-e", dest="to_stderr", action="store_true", help="log to stderr as text, regardless of `logging`"
    )
    parser.add_argument("-v", dest="level", action="store_const", const="info", help="log from level info on")
    parser.add_argument(
        "-d",
        dest="debugged",
        metavar="SELECTORS",
        help="log these components at debug level, as logging.selectors: names separated by commas, '*' for all",
    )
    parser.add_argument(
        "--environment",
        metavar="NAME",
        help="accepted for Filebeat: without logging.to_files, logs always go to stderr",
    )
    parser.add_argument(
        "--path.data", dest="data", type=Path, metavar="DIR", help="directory of the registry and dead letters"
    )
    for name in PATHS:
        parser.add_argument(f"--path.{name}", dest=f"path_{name}", metavar="DIR", help=f"same as -E path.{name}=DIR")
    parser.add_argument(
        "--strict.perms",
        dest="strict",
        choices=["true", "false"],
        help="refuse configuration files that other users can write (also: BEAT_STRICT_PERMS=false)",
    )


def files(options: argparse.Namespace) -> list[Path]:
    """Return the configuration files. As in Filebeat, they are relative to path.config if the command line sets it."""
    directory = Path(options.path_config or "")
    if not options.configs and not (directory / DEFAULT).exists() and (directory / OF_FILEBEAT).exists():
        return [directory / OF_FILEBEAT]
    return [directory / file for file in options.configs or [DEFAULT]]


def written(options: argparse.Namespace) -> tuple[list[Path], list[str | Override]]:
    """Return the configuration files and the overrides."""
    # The paths are passed as overrides, because the checks need the data path: no input may read it.
    given = {"data": options.data} | {name: getattr(options, f"path_{name}") for name in PATHS}
    paths = [
        Override(f"path.{name}={json.dumps(str(path))}", f"--path.{name}")
        for name, path in given.items()
        if path is not None
    ]
    levels = [Override(f"logging.level={options.level}", "-v")] if options.level is not None else []
    if options.debugged is not None:
        selectors = f"logging.selectors={json.dumps(options.debugged)}"
        levels = [Override("logging.level=debug", "-d"), Override(selectors, "-d")]
    return files(options), [*levels, *options.overrides, *paths]


def keystore_values(options: argparse.Namespace) -> Collection[str]:
    """Return all secrets, in any option. Raises ConfigError."""
    files, overrides = written(options)
    return read(files, ShipperConfig, overrides, os.environ).secrets


def load_config(options: argparse.Namespace) -> ShipperConfig:
    """Load the configuration. Raises ConfigError, also for problems with files that the output needs."""
    return _read(options, examined=True)


def context(options: argparse.Namespace) -> tuple[ShipperConfig | None, Path]:
    """Return the configuration, or None if there is none, and the data path. The registry can be shown without a
    configuration, but not without its location.
    """
    config = _read(options, examined=False) if _all_exist(options) else None
    return config, data_path(options, config)


def existing_data(options: argparse.Namespace) -> tuple[ShipperConfig | None, Path]:
    """Return the same as `context`. Raises StartError if there is no data path: a wrong one must not look like a
    shipper without files and dead letters.
    """
    config, data = context(options)
    if not data.is_dir():
        what = "is not a directory" if data.exists() else "does not exist"
        raise StartError(
            f"path.data {data.absolute()} {what}: no shipper has run with this directory. Give the "
            "configuration of the running shipper (-c FILE), or its data directory (--path.data DIR)"
        )
    return config, data


def data_path_alone(options: argparse.Namespace) -> Path:
    """Return the data path for commands that need nothing else of the configuration, despite errors elsewhere in it.
    Raises StartError.
    """
    if options.data is not None:
        return Path(options.data)
    _all_exist(options)
    try:
        named, overrides = written(options)
        _check_permissions(options, named)
        return Path(variables_of(named, ShipperConfig, overrides, os.environ)["path.data"])
    except (ConfigError, ValueError) as error:
        where = "" if isinstance(error, ConfigError) else f"{files(options)[-1]}: path.data: "
        raise StartError(f"{where}{error}; so path.data is unknown: add --path.data DIR") from error


def _all_exist(options: argparse.Namespace) -> bool:
    """Return True if there is a configuration, False if the command line replaces it. Raises StartError."""
    missing = next((file for file in files(options) if not file.exists()), None)
    if missing is not None and options.data is None:
        raise StartError(f"{missing} does not exist; name the configuration (-c FILE), or --path.data DIR")
    return missing is None


def data_path(options: argparse.Namespace, config: ShipperConfig | None) -> Path:
    if options.data is not None:
        return Path(options.data)
    return Path(config.path.data if config else "data")


def _read(options: argparse.Namespace, *, examined: bool) -> ShipperConfig:
    named, overrides = written(options)
    _check_permissions(options, named)
    config = load(named, ShipperConfig, overrides, examine=_examine if examined else None)
    _check_permissions(options, config.config_inputs.files())
    return config


def _check_permissions(options: argparse.Namespace, named: Iterable[Path]) -> None:
    """Check the permissions of the files, unless the command line allows any. Raises ConfigError."""
    if options.strict != "false":
        for file in named:
            check_permissions(file)


def _examine(config: ShipperConfig) -> Examination:
    return config.output.chosen.examine()
