"""The commands of `shipper dead-letter`, and their options."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from log_shipper.config.text.units import parse_duration
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.cli.options import add_shared, argument, existing_data
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.letters.letter_box import LetterBox, StoredLetter
from log_shipper.shipper.options.model import ShipperConfig

SHORT_ID = 8


def add_dead_letter_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="WHAT")

    listing = commands.add_parser("list", help="list letters: id, time, topic, file, offset, reason")
    listing.add_argument("--json", action="store_true", help="one JSON object per line")
    add_shared(listing, lambda options: _list(options, LetterBox(existing_data(options)[1])))

    show = commands.add_parser("show", help="show one letter completely")
    show.add_argument("ids", metavar="ID", nargs="+", help="the id, or its first characters")
    add_shared(show, lambda options: _show(options, LetterBox(existing_data(options)[1])))

    sending = commands.add_parser("resend", help="resend letters; the agent may be running")
    sending.add_argument("ids", metavar="ID", nargs="*", help="resend only these ids")
    sending.add_argument("--topic", help="send to this topic instead of the configured one")
    sending.add_argument(
        "--at-least-once",
        action="store_true",
        help="do not use Kafka transactions: a kill may duplicate letters in flight",
    )
    sending.add_argument(
        "--timeout",
        type=argument(parse_duration),
        default=60.0,
        metavar="TIME",
        help="give up after this time without a response",
    )
    add_shared(sending, lambda options: _resend(options, *existing_data(options)))


def _list(options: argparse.Namespace, box: LetterBox) -> int:
    count = 0
    for count, stored in enumerate(box.letters(), 1):  # noqa: B007
        print(visible(_as_json(stored) if options.json else _line(stored)))  # noqa: T201
    if not count and not options.json:
        print(f"no dead letters in {box.directory}")  # noqa: T201
    return 0


def _line(stored: StoredLetter) -> str:
    letter = stored.letter
    if letter is None:
        return f"{stored.id[:SHORT_ID]}  cannot be read: {stored.problem}"
    where = f"{letter.path} at {letter.offset}"
    return f"{stored.id[:SHORT_ID]}  {letter.time}  {letter.topic or '(no topic)'}  {where}  {letter.reason}"


def _as_json(stored: StoredLetter, *, indent: int | None = None) -> str:
    if stored.letter is None:
        values = {"id": stored.id, "problem": stored.problem, "line": stored.line.decode("utf-8", "replace")}
    else:
        values = {"id": stored.id, **json.loads(stored.line)}
    return json.dumps(values, indent=indent, ensure_ascii=False)


def _show(options: argparse.Namespace, box: LetterBox) -> int:
    for stored in _selected(box, options.ids):
        print(visible(_as_json(stored, indent=2), keep="\n"))  # noqa: T201
    return 0


def _selected(box: LetterBox, prefixes: Sequence[str]) -> list[StoredLetter]:
    """Return the letters with these ids. Raises StartError for an unknown id."""
    letters = list(box.letters())
    for prefix in prefixes:
        if not any(stored.id.startswith(prefix) for stored in letters):
            raise StartError(
                f"no dead letter in {box.directory} has the id {prefix}; list them with 'dead-letter list'"
            )
    return [stored for stored in letters if stored.id.startswith(tuple(prefixes))]


def _resend(options: argparse.Namespace, config: ShipperConfig | None, data: Path) -> int:
    from log_shipper.shipper.agent.running import EXIT_DEAD_LETTER, EXIT_OK  # only resending needs the agent's modules
    from log_shipper.shipper.cli.resend import resend

    if config is None:
        raise StartError("letters are sent to the configured output: name the configuration (-c FILE)")
    box = LetterBox(data)
    ids = frozenset(stored.id for stored in _selected(box, options.ids)) if options.ids else frozenset[str]()
    code = resend(config, data, ids, options.timeout, topic=options.topic, exactly_once=not options.at_least_once)
    unreadable = [stored for stored in box.letters() if stored.letter is None and (not ids or stored.id in ids)]
    for stored in unreadable:
        print(visible(_line(stored)))  # noqa: T201
    return EXIT_DEAD_LETTER if unreadable and code == EXIT_OK else code
