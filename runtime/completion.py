"""Shell completion for bash, zsh and fish, generated from an argparse parser: subcommands, options and files."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from log_shipper.runtime.manual import commands, visible_options

# In each script, `given` holds the words before the cursor without options: they select the case.
_BASH = """# bash completion of {command}; made from its command line
_{function}() {{
    COMPREPLY=()
    local current=${{COMP_WORDS[COMP_CWORD]}} given="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in -*) ;; *) given+=" $word" ;; esac
    done
    case $given in
{cases}
    esac
    if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}}
complete -F _{function} {command}
"""
_ZSH = """#compdef {command}
# made from its command line
_{function}() {{
    local given="" word
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case $word in (-*) ;; (*) given+=" $word" ;; esac
    done
    case $given in
{cases}
    esac
}}
if [[ $funcstack[1] == _{function} ]]; then _{function} "$@"; else compdef _{function} {command}; fi
"""
_FISH = """# fish completion of {command}; made from its command line
function __{function}_offers
    set -l given (string match --invert -- '-*' (commandline -opc)[2..])
    switch " $given"
{cases}
    end
end
complete -c {command} -a '(__{function}_offers)'
"""


@dataclass(frozen=True, slots=True)
class _Case:
    """The words of a command line, and the possible next words; after a complete subcommand, also files."""

    words: str
    offers: str
    is_last: bool


def completion(parser: argparse.ArgumentParser, shell: str = "bash") -> str:
    """Return the script. After a complete subcommand, it completes options for words with a dash, and files for
    others."""
    script, case = SHELLS[shell]
    cases = "\n".join(map(case, _cases(parser, "")))
    return script.format(command=parser.prog, function=parser.prog.replace("-", "_"), cases=cases)


def _in_bash(case: _Case) -> str:
    offer = f'mapfile -t COMPREPLY < <(compgen -W "{case.offers}" -- "$current")'
    if case.is_last:
        return f'        "{case.words}"*) [[ $current != -* ]] || {offer} ;;'
    return f'        "{case.words}") {offer} ;;'


def _in_zsh(case: _Case) -> str:
    offer = f"compadd -- {case.offers}"
    if case.is_last:
        return f'        ("{case.words}"*) if [[ $PREFIX == -* ]]; then {offer}; else _files; fi ;;'
    return f'        ("{case.words}") {offer} ;;'


def _in_fish(case: _Case) -> str:
    pattern = f"'{case.words}*'" if case.is_last else f"'{case.words or ' '}'"
    return f"        case {pattern}\n            printf '%s\\n' {case.offers}"


SHELLS: dict[str, tuple[str, Callable[[_Case], str]]] = {
    "bash": (_BASH, _in_bash),
    "zsh": (_ZSH, _in_zsh),
    "fish": (_FISH, _in_fish),
}


def _cases(parser: argparse.ArgumentParser, words: str) -> Iterator[_Case]:
    """Yield the cases, longest first."""
    below = commands(parser)
    for name, inner in below.items():
        yield from _cases(inner, f"{words} {name}")
    options = [name for action in visible_options(parser) for name in action.option_strings]
    yield _Case(words, " ".join([*below, *options]), not below)
