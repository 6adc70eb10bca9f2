"""The page of all commands: `python -m deploy.site.command_line` prints docs/reference/command-line.md."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator

from log_shipper.runtime.manual import commands, metavar, summaries, visible_options
from log_shipper.shipper.cli.commands import whole_parser as shipper_parser
from log_shipper.spark_sink.__main__ import whole_parser as sink_parser

_INTRODUCTION = """# Command line

The commands and their options, generated from their parsers (`python -m deploy.site.command_line`). `COMMAND --help`
prints the same, and so do `man shipper` and `man spark-sink` where the packages are installed. `...` stands for the
options of most commands.
"""
_SHARED_BY = 5  # commands


def page() -> str:
    """Return the content of docs/reference/command-line.md."""
    return "\n".join([_INTRODUCTION, *_program(shipper_parser()), *_program(sink_parser())])


def _program(parser: argparse.ArgumentParser) -> Iterator[str]:
    leaves = list(_leaves(parser))
    counts = Counter(row for command, _ in leaves for row in _rows(command))
    shared = [row for row, count in counts.items() if count >= _SHARED_BY]
    yield f"## {parser.prog}\n"
    yield f"{' '.join(text for text in (parser.description, parser.epilog) if text)} Options of most commands:\n"
    yield from _table(shared)
    for command, summary in leaves:
        words = [_positional(action) for action in visible_options(command) if not action.option_strings]
        rows = _rows(command)
        more = " ..." if not set(shared).isdisjoint(rows) else ""
        yield f"### {command.prog}\n"
        yield f"`{' '.join([command.prog, *words])}{more}`: {_cell(summary)}.\n"
        yield from _table([row for row in rows if row not in shared])


def _leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield the commands that have no subcommands, with their summaries."""
    about = summaries(parser)
    for name, command in commands(parser).items():
        if commands(command):
            yield from _leaves(command)
        else:
            yield command, about.get(name, "")


def _positional(action: argparse.Action) -> str:
    return f"[{metavar(action)}]" if action.nargs in ("?", "*") else metavar(action)


def _rows(command: argparse.ArgumentParser) -> list[str]:
    return [_row(action) for action in visible_options(command) if not isinstance(action, argparse._HelpAction)]


def _row(action: argparse.Action) -> str:
    value = [] if action.nargs == 0 else [metavar(action)]
    names = [" ".join([name, *value]) for name in action.option_strings] or value
    text = (action.help or "") % {"default": action.default, "prog": "", "dest": action.dest}
    return f"| {', '.join(f'`{_escaped(name)}`' for name in names)} | {_cell(text)} |"


def _table(rows: list[str]) -> Iterator[str]:
    if rows:
        yield from ("| option | |", "|---|---|", *rows, "")


def _cell(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return re.sub(r"([*<\[])", r"\\\1", _escaped(text))


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
