"""A bash completion from the argparse parser of a command: its subcommands, their options, and files."""

import argparse
from collections.abc import Iterator

from deploy.debian.manual import commands, visible_options

# `words` are those before the cursor without options: they select the case.
SCRIPT = """# bash completion of {command}; made from its command line
_{function}() {{
    COMPREPLY=()
    local current=${{COMP_WORDS[COMP_CWORD]}} words="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in -*) ;; *) words+=" $word" ;; esac
    done
    case $words in
{cases}
    esac
    if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}}
complete -F _{function} {command}
"""


def completion(parser: argparse.ArgumentParser) -> str:
    """Return the script. After a whole subcommand it offers options to a word with a dash, and files to another one."""
    cases = "\n".join(_case(words, offers, is_last=is_last) for words, offers, is_last in _cases(parser, ""))
    return SCRIPT.format(command=parser.prog, function=parser.prog.replace("-", "_"), cases=cases)


def _case(words: str, offers: str, *, is_last: bool) -> str:
    offer = f'mapfile -t COMPREPLY < <(compgen -W "{offers}" -- "$current")'
    return f'        "{words}"*) [[ $current != -* ]] || {offer} ;;' if is_last else f'        "{words}") {offer} ;;'


def _cases(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the words of a command line and what may follow them, the longer ones first."""
    below = commands(parser)
    for name, inner in below.items():
        yield from _cases(inner, f"{words} {name}")
    options = [name for action in visible_options(parser) for name in action.option_strings]
    offers = [*below, *options]
    yield words, " ".join(offers), not below
