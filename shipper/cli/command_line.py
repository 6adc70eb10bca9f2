"""Converts Filebeat command lines for the parser of `cli`: manifests, unit files and compose files keep working when
only the image changes.

`filebeat -e -c f.yml` has no command and runs. Options may precede the command, and long options may have a single
dash, as in Go.
"""

import re
from collections.abc import Collection, Sequence

RUN = "run"

_TAKEN = ("path.home", "path.config", "path.data", "path.logs", "strict.perms", "once", "once-timeout", "environment")
_MODULES = "modules are not supported: use an input with paths and processors"
_PROFILE = "not supported: inspect the running process with py-spy"
# Filebeat's commands and options, with replacements.
_OPTIONS = {
    "modules": _MODULES,
    "M": _MODULES,
    "N": "not supported: `shipper test pipeline` shows events without sending them",
    "setup": "not needed: remove it",
    "plugin": "not supported: there are no plugins",
    "system.hostfs": "not supported: mount the host's directories, and put them in `paths`",
    "cpuprofile": _PROFILE,
    "memprofile": _PROFILE,
    "httpprof": _PROFILE,
}
_COMMANDS = {
    "setup": "it loads templates and dashboards into Elasticsearch; the shipper needs no setup",
    "modules": _MODULES,
    "enroll": "it belongs to Fleet, which is not supported",
    "completion": "not supported",
}

_LONG = re.compile(rf"--?({'|'.join(map(re.escape, (*_TAKEN, *_OPTIONS, 'version', 'help')))})(=.*)?", re.DOTALL)
_SHORT = re.compile(r"--?([cEedv])(?:=(.*))?", re.DOTALL)
_TAKES_VALUE = re.compile(r"-[ev]*[cEd]|--(path\.\w+|environment|once-timeout)")


class NotSupported(ValueError):
    """Raised for a command or option of Filebeat that the shipper lacks; the text names the alternative."""


def normalized(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the arguments with the command first (`run` if absent) and double dashes before long options. `commands`
    lists the existing ones. Raises NotSupported.
    """
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
    """Return the index of the first word that is neither an option nor an option's value."""
    index = 0
    while index < len(words):
        if not words[index].startswith("-"):
            return index
        index += 2 if _TAKES_VALUE.fullmatch(words[index]) else 1
    return None
