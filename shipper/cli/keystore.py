"""The commands of `shipper keystore`, and their options."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from log_shipper.config.yaml.load import variables_of
from log_shipper.runtime.disk import make_directory, replace_file
from log_shipper.runtime.disk_errors import Misplaced, advice_for
from log_shipper.shipper.cli.options import add_shared, written
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.keystore import is_name, location, read_keystore, written_keystore
from log_shipper.shipper.options.model import ShipperConfig


def add_keystore_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="WHAT")

    def add(name: str, command: Callable[[argparse.Namespace, Path], None], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text)
        add_shared(made, lambda options: _run(command, options))
        return made

    create = add("create", _create, "create an empty keystore")
    create.add_argument("--force", action="store_true", help="replace an existing keystore and its secrets")
    add("list", _list, "list the names of secrets")
    adding = add("add", _add, "add a secret; prompts for it")
    adding.add_argument("name", metavar="NAME", help="the name in the configuration: ${NAME}")
    adding.add_argument("--stdin", action="store_true", help="read the secret from standard input")
    adding.add_argument(
        "--force", action="store_true", help="replace an existing secret; create the keystore if missing"
    )
    remove = add("remove", _remove, "remove secrets")
    remove.add_argument("names", metavar="NAME", nargs="+")


def _run(command: Callable[[argparse.Namespace, Path], None], options: argparse.Namespace) -> int:
    try:
        path = location(_variables(options))
    except ValueError as error:
        raise StartError(f"keystore.path or path.data: {error}") from error
    command(options, path)
    return 0


def _variables(options: argparse.Namespace) -> Mapping[str, str]:
    """Return the variables of the configuration, without secrets, which may not exist yet."""
    files, overrides = written(options)
    if files[0].exists():
        return variables_of(files, ShipperConfig, overrides, os.environ)
    return {} if options.data is None else {"path.data": str(options.data)}


def _create(options: argparse.Namespace, path: Path) -> None:
    if path.exists() and not options.force:
        raise StartError(f"{path} already exists; --force replaces it and deletes its secrets")
    _write(path, {})
    print(f"created {path}")  # noqa: T201


def _list(_: argparse.Namespace, path: Path) -> None:
    for name in sorted(_existing(path)):
        print(name)  # noqa: T201


def _add(options: argparse.Namespace, path: Path) -> None:
    if not is_name(options.name):
        raise StartError(f"{options.name!r} is not a valid name: use letters, digits, '_', '.' and '-'")
    values = {} if options.force and not path.exists() else _existing(path)
    if options.name in values and not options.force:
        raise StartError(f"{options.name} already exists in the keystore; --force replaces it")
    value = _value(options)
    if not value:
        raise StartError("the secret is empty; nothing changed")
    _write(path, {**values, options.name: value})


def _remove(options: argparse.Namespace, path: Path) -> None:
    values = _existing(path)
    missing = [name for name in options.names if name not in values]
    if missing:
        raise StartError(f"{', '.join(missing)}: not in the keystore; nothing changed")
    _write(path, {name: value for name, value in values.items() if name not in options.names})


def _value(options: argparse.Namespace) -> str:
    """Ask for the secret and return it. Raises StartError."""
    if not options.stdin:
        if sys.stdin is None or not sys.stdin.isatty():
            raise StartError("no terminal to prompt for the secret; use --stdin")
        return getpass.getpass(f"Enter value for {options.name}: ")
    if sys.stdin is None:
        raise StartError("--stdin: standard input is closed")
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise StartError("--stdin: the secret is not UTF-8 text") from error
    return text.removesuffix("\n").removesuffix("\r")  # of echo, or of an editor


def _existing(path: Path) -> dict[str, str]:
    if not path.exists():
        raise StartError(f"no keystore at {path}; create one: shipper keystore create")
    return read_keystore(path)


def _write(path: Path, values: Mapping[str, str]) -> None:
    try:
        make_directory(path.parent, 0o750, owned_as_parent=True)
        replace_file(path, written_keystore(values), 0o600)
    except Misplaced as error:
        raise StartError(f"{error.path} {error.problem}; the keystore was not written") from error
    except OSError as error:
        is_denied = isinstance(error, PermissionError)
        advice = "run this command as a user with permission" if is_denied else advice_for(error)
        raise StartError(f"{path}: cannot write the keystore: {error.strerror}; {advice}") from error
