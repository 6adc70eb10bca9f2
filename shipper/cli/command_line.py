"""Command lines as they are written for Filebeat, in manifests, unit files and compose files of which only the image is
replaced; they become those that `cli` parses.

`filebeat -e -c f.yml` has no command: it runs. Options may come before the command, and long ones may have one dash, as
Go's have.
"""

import re
from collections.abc import Collection, Sequence

RUN = "run"

_TAKEN = ("path.home", "path.config", "path.data", "path.logs", "strict.perms", "once", "once-timeout", "environment")
_MODULES = "modules are not supported: an input with paths and processors does what a module does"
_PROFILE = "not supported: py-spy shows what a running process does"
# Of Filebeat's, with what to do instead.
_OPTIONS = {
    "modules": _MODULES,
    "M": _MODULES,
    "N": "not supported: `shipper test pipeline` shows the events without sending them",
    "setup": "nothing is to be set up here: leave it out",
    "plugin": "not supported: there are no plugins",
    "system.hostfs": "not supported: mount the host's directories, and name them in `paths`",
    "cpuprofile": _PROFILE,
    "memprofile": _PROFILE,
    "httpprof": _PROFILE,
}
_COMMANDS = {
    "setup": "it loads templates and dashboards into Elasticsearch; nothing is to be set up here",
    "modules": _MODULES,
    "enroll": "it belongs to Fleet, which is not supported",
    "completion": "not supported",
}

_LONG = re.compile(rf"--?({'|'.join(map(re.escape, (*_TAKEN, *_OPTIONS, 'version', 'help')))})(=.*)?", re.DOTALL)
_SHORT = re.compile(r"--?([cEedv])(?:=(.*))?", re.DOTALL)
_TAKES_VALUE = re.compile(r"-[ev]*[cEd]|--(path\.\w+|environment|once-timeout)")


class NotSupported(ValueError):
    """A command or an option of Filebeat that does not exist here; the text says what to do instead."""


def normalized(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the arguments with the command first (`run` without one) and two dashes before long options. `commands`:
    those that exist. Raises NotSupported."""
    words = _options(arguments)
    start = _command(words)
    if start is None:
        if "--version" in words:
            return ["version"]
        return words if {"-h", "--help"} & set(words) else [RUN, *words]
    command = words[start]
    if command in _COMMANDS and command not in commands:
        raise NotSupported(f"{command}: {_COMMANDS[command]}")
    if command == "help":
        return [*words[start + 1 :], "--help"]
    end = next((index for index in range(start, len(words)) if words[index].startswith("-")), len(words))
    return [*words[start:end], *words[:start], *words[end:]]


def _options(arguments: Sequence[str]) -> list[str]:
    words: list[str] = []
    for argument in arguments:
        if words[-1:] == ["--strict.perms=true"] and argument in ("true", "false"):
            words[-1] = f"--strict.perms={argument}"
        else:
            words.append(_option(argument) if argument.startswith("-") else argument)
    return words


def _option(word: str) -> str:
    if long := _LONG.fullmatch(word):
        name, value = long[1], long[2] or ""
        if name in _OPTIONS:
            raise NotSupported(f"{word}: {_OPTIONS[name]}")
        return f"--{name}{value or '=true'}" if name == "strict.perms" else f"--{name}{value}"
    if short := _SHORT.fullmatch(word):
        return f"-{short[1]}{short[2] or ''}"
    return word


def _command(words: Sequence[str]) -> int | None:
    """Return the index of the first word that is neither an option nor the value of one."""
    index = 0
    while index < len(words):
        if not words[index].startswith("-"):
            return index
        index += 2 if _TAKES_VALUE.fullmatch(words[index]) else 1
    return None
