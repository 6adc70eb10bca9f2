"""The commands of `shipper registry`, and their options. What only one of them needs is imported where it is used."""

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

    listing = commands.add_parser("list", help="one line a file: position, size, bytes behind")
    listing.add_argument("--json", action="store_true", help="one JSON object a file")
    add_shared(listing, _list)

    show = commands.add_parser("show", help="all that is known of a file")
    show.add_argument("name", metavar="PATH-or-ID", help="or the end of a path, as app.log, if only one has it")
    show.add_argument("--json", action="store_true", help="one JSON object an entry")
    add_shared(show, _show)

    forgetting = commands.add_parser("forget", help="remove entries: their files are shipped again from the start")
    forgetting.add_argument("names", metavar="PATH-or-ID", nargs="+")
    forgetting.add_argument("--yes", action="store_true", help="do not ask")
    add_shared(forgetting, _forget)

    _add_import(commands.add_parser("import", help="take over another shipper's positions"))


def _add_import(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_subparsers(required=True, metavar="WHOSE")
    filebeat = whose.add_parser("filebeat", help="of a Filebeat that is stopped")
    filebeat.add_argument("source", type=Path, metavar="DIR", help="Filebeat's data path, or the registry in it")
    filebeat.add_argument("--overwrite", action="store_true", help="replace entries of files that are known already")
    defaults = Fingerprinting()
    for name, meaning, least in (("offset", "where", 0), ("length", "how many bytes", 64)):
        filebeat.add_argument(
            f"--fingerprint.{name}",
            dest=f"fingerprint_{name}",
            type=_at_least(least),
            metavar="N",
            default=getattr(defaults, name),
            help=f"Filebeat's prospector.scanner.fingerprint.{name}: {meaning} it hashed (default %(default)s)",
        )
    add_shared(filebeat, _import_filebeat)


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
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
