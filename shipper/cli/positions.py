"""The commands of `shipper registry`, and their options. Imports for only one of them are local to it."""

import argparse
from collections.abc import Callable
from pathlib import Path

from log_shipper.registry.files import DiskFiles
from log_shipper.shipper.cli.options import add_shared, context, existing_data
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.positions.heads import Fingerprinting

FAILED = 1


def add_registry_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="WHAT")

    listing = commands.add_parser("list", help="list files: position, size, bytes behind")
    listing.add_argument("--json", action="store_true", help="one JSON object per file")
    add_shared(listing, _list)

    show = commands.add_parser("show", help="show all data of a file")
    show.add_argument("name", metavar="PATH-or-ID", help="its path, or the end of it, such as app.log, if unique")
    show.add_argument("--json", action="store_true", help="one JSON object per entry")
    add_shared(show, _show)

    forgetting = commands.add_parser("forget", help="remove entries: their files are shipped again from the start")
    forgetting.add_argument("names", metavar="PATH-or-ID", nargs="+")
    forgetting.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    add_shared(forgetting, _forget)

    _add_import(commands.add_parser("import", help="import positions of another shipper"))


def _add_import(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_subparsers(required=True, metavar="WHOSE")
    filebeat = whose.add_parser("filebeat", help="import from a stopped Filebeat")
    filebeat.add_argument("source", type=Path, metavar="DIR", help="Filebeat's data directory, or its registry")
    filebeat.add_argument("--overwrite", action="store_true", help="replace existing entries")
    defaults = Fingerprinting()
    for name, meaning, minimum in (("offset", "where", 0), ("length", "how many bytes", 64)):
        filebeat.add_argument(
            f"--fingerprint.{name}",
            dest=f"fingerprint_{name}",
            type=_at_least(minimum),
            metavar="N",
            default=getattr(defaults, name),
            help=f"Filebeat's prospector.scanner.fingerprint.{name}: {meaning} it hashed (default %(default)s)",
        )
    add_shared(filebeat, _import_filebeat)


def _at_least(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {minimum}")
        return int(text)

    return number


def _list(options: argparse.Namespace) -> int:
    from log_shipper.shipper.positions.view import list_registry

    list_registry(_directory(*existing_data(options)), as_json=options.json)
    return 0


def _show(options: argparse.Namespace) -> int:
    from log_shipper.shipper.positions.view import show_entry

    show_entry(_directory(*existing_data(options)), options.name, as_json=options.json)
    return 0


def _forget(options: argparse.Namespace) -> int:
    from log_shipper.shipper.positions.forget import confirm_at_terminal, forget

    config, data = existing_data(options)
    confirm = (lambda question: True) if options.yes else confirm_at_terminal
    return 0 if forget(_directory(config, data), options.names, _files(config), confirm) else FAILED


def _import_filebeat(options: argparse.Namespace) -> int:
    from log_shipper.shipper.positions.take_over import take_over

    config, data = context(options)
    fingerprinting = Fingerprinting(options.fingerprint_offset, options.fingerprint_length)
    inputs = config.file_inputs if config else ()
    return take_over(
        options.source, _directory(config, data), _files(config), inputs, fingerprinting, overwrite=options.overwrite
    )


def _directory(config: ShipperConfig | None, data: Path) -> Path:
    return data / (config.registry.path if config else "registry")


def _files(config: ShipperConfig | None) -> DiskFiles:
    return DiskFiles(int(config.registry.file_permissions, 8)) if config else DiskFiles()
