"""Manual pages in roff (groff_man(7)): of a command from its argparse parser, of its configuration from the page of all
options.
"""

import argparse
import re
from collections.abc import Iterator

INLINE = re.compile(r"`([^`]*)`|\*\*([^*]+)\*\*")
LINK = re.compile(r"\[([^\]]*)\]\([\w/.-]*\.md[^)]*\)")  # to another page
HEADING = re.compile(r"#+ (.*)")
SEPARATOR = re.compile(r"\|(?:-+\|)+")
CELL = re.compile(r"(?<!\\)\|")  # within a cell, \| is a literal character


def command_page(parser: argparse.ArgumentParser, package: str, version: str, see_also: str) -> str:
    """Return the section 1 page of a command with all its subcommands."""
    name = parser.prog
    summary = escaped(f"{name} - {_lower(parser.description or '')}")
    lines = [_title(name, 1, package, version), ".SH NAME", summary, ".SH SYNOPSIS"]
    lines += [f".B {escaped(name)}", r".I COMMAND", r"[\fIOPTIONS\fR]", ".SH DESCRIPTION"]
    lines += [escaped(text) for text in (parser.description, parser.epilog) if text]
    lines += [".SH COMMANDS", *_commands(parser)]
    lines += [".SH SEE ALSO", escaped(see_also)]
    return "\n".join(lines) + "\n"


def options_page(name: str, page: str, package: str, version: str) -> str:
    """Return the section 5 page of a configuration file from `page`, the Markdown page of all its options."""
    _, *lines = page.splitlines()
    text = [_title(name, 5, package, version), ".SH NAME", f"{escaped(name)} \\- configuration of {package}"]
    text += [".SH DESCRIPTION", *_roff(lines)]
    return "\n".join(text) + "\n"


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a command's subcommands, by name; {} if it has none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def summaries(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the line in the help about each subcommand, by name."""
    return {
        choice.dest: choice.help or ""
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action._choices_actions
    }


def visible_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the actions shown in a parser's help, except subcommands."""
    hidden = argparse.SUPPRESS
    kinds = argparse._SubParsersAction
    return [action for action in parser._actions if action.help != hidden and not isinstance(action, kinds)]


def metavar(action: argparse.Action) -> str:
    """Return the name of an option's value in the help, or its choices."""
    if action.choices and not action.metavar:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest).upper()


def escaped(text: str) -> str:
    """Return text as literal roff, without requests and independent of the encoding."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    plain = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in plain)
    return re.sub(r"^([.'])", r"\\&\1", plain, flags=re.MULTILINE)


def _title(name: str, section: int, package: str, version: str) -> str:
    return f'.TH {escaped(name).upper()} {section} "" "{package} {version}"'


def _lower(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}"


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    about = summaries(parser)
    for name, below in commands(parser).items():
        inner = commands(below)
        if not inner:
            positional = [action for action in visible_options(below) if not action.option_strings]
            yield f".SS {escaped(' '.join([below.prog, *map(metavar, positional)]))}"
            yield escaped(f"{about.get(name, '').capitalize()}.")
            for action in visible_options(below):
                yield from _option(action)
        else:
            yield from _commands(below)


def _option(action: argparse.Action) -> Iterator[str]:
    if isinstance(action, argparse._HelpAction):
        return
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in action.option_strings)
    value = "" if action.nargs == 0 and names else f"\\fI{escaped(metavar(action))}\\fR"
    yield ".TP"
    yield f"{names} {value}".strip()
    text = (action.help or "") % {"default": action.default, "prog": "", "dest": action.dest}
    yield escaped(text or " ")


def _roff(lines: list[str]) -> Iterator[str]:
    """Yield a page of Markdown as roff: headings, paragraphs, examples, and tables as lists of their first column."""
    is_code = False
    header: list[str] = []
    for line in lines:
        if line.startswith("```"):
            is_code = not is_code
            yield from (".PP", ".nf", ".RS 4") if is_code else (".RE", ".fi")
        elif is_code:
            yield escaped(line)
        elif heading := HEADING.fullmatch(line):
            yield f"{'.SS' if line.startswith('###') else '.SH'} {_inline(heading[1])}"
        elif line.startswith("|"):
            cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
            if not header:
                header = cells
            elif not SEPARATOR.fullmatch(line):
                yield from _row(header, cells)
            continue
        else:
            yield _inline(line) if line else ".PP"
        header = []


def _row(header: list[str], cells: list[str]) -> Iterator[str]:
    yield ".TP"
    yield _inline(cells[0])
    notes = [_note(name, cell) for name, cell in zip(header[1:-1], cells[1:-1], strict=True) if cell]
    yield _inline(" ".join(part for part in (cells[-1], f"({', '.join(notes)})" if notes else "") if part)) or " "


def _note(column: str, cell: str) -> str:
    """Return a cell as part of a sentence: `default` and `since` need their names."""
    return f"{column} {cell}" if column in ("default", "since") and cell != "required" else cell


def _inline(text: str) -> str:
    plain = LINK.sub(r"\1", text).replace("\\|", "|")
    parts, end = [], 0
    for match in INLINE.finditer(plain):
        parts += [escaped(plain[end : match.start()]), f"\\fB{escaped(match[1] or match[2] or '')}\\fR"]
        end = match.end()
    return "".join([*parts, escaped(plain[end:])])
