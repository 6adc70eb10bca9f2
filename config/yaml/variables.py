"""The values of `${name}` in a scalar: a variable of the environment, or another option of the same configuration.

`${VAR}` must be set, `${VAR:default}` need not be, `${VAR:?message}` fails with that message. A default may contain
variables itself, nested up to MAX_NESTED levels. `$${` stands for `${`. The value of a variable is data: it is not
expanded again.

As in Filebeat, `${path.config}` is the value of the option `path.config`. A variable of the environment takes
precedence. An option may refer to another that refers to a third, in a chain of up to MAX_CHAIN options. Each is
expanded once: if each of them named the next one twice, the last would otherwise be expanded 2**8 times.
"""

import re
from collections.abc import Iterator, Mapping

from log_shipper.config.yaml.tree import Scalar, Section, is_null

MAX_NESTED = 8  # each level is another pass over the text; people write one or two
MAX_EXPANDED = 1024**2  # characters: expanded values may be far longer than the text
MAX_CHAIN = 8
_BRACE = re.compile(r"\$\{|\}")


def expand(text: str, env: Mapping[str, str]) -> str:
    """Return the text with variables expanded. Raises ValueError if one is not set or not closed, or if the result is
    too long.
    """
    done: list[str] = []
    position = length = 0
    while (start := text.find("${", position)) >= 0:
        if start > position and text[start - 1] == "$":
            done.append(text[position : start - 1] + "${")
            position = start + 2
            continue
        end = _closing(text, start)
        done.append(text[position:start] + _value(text[start + 2 : end], env))
        length += len(done[-1])
        if length > MAX_EXPANDED:
            raise ValueError(f"has more than {MAX_EXPANDED:,} characters after expanding its variables")
        position = end + 1
    return "".join(done) + text[position:]


def is_variable(text: str) -> bool:
    """Return True if the text is exactly one variable. Raises ValueError if it is not closed."""
    return text.startswith("${") and _closing(text, 0) == len(text) - 1


def _closing(text: str, start: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "${" else -1
        if depth == 0:
            return brace.start()
        if depth > MAX_NESTED:
            raise ValueError(f"more than {MAX_NESTED} variables are nested in defaults")
    raise ValueError("'${' without '}'; write '$${' for a literal '${'")


def _value(inside: str, env: Mapping[str, str]) -> str:
    name, colon, default = inside.partition(":")
    if name in env:
        return env[name]
    if name != name.strip():
        raise ValueError(f"the name of variable {name!r} has blanks; remove them")
    if not name and not colon:
        raise ValueError("'${}' names no variable; write ${NAME}, or '$${' for a literal '${'")
    if default.startswith("?"):
        raise ValueError(f"variable {name} is not set: {default[1:]}")
    if not colon:
        raise ValueError(f"variable {name} is not set; set a default with ${{{name}:value}}")
    return expand(default, env)


class Variables(Mapping[str, str]):
    """Values by variable name. Raises ValueError for an option that refers to itself, and for a chain that is too
    long."""

    def __init__(self, root: Section, env: Mapping[str, str], defaults: Mapping[str, str]) -> None:
        """`defaults` are the values of options that are not written."""
        leaves = root.leaves(lambda *_: None)
        self._written = {
            key: node.text for key, node in leaves.items() if isinstance(node, Scalar) and not is_null(node)
        }
        self._env = env
        self._defaults = defaults
        self._expanding: list[str] = []
        self._expanded: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name in self._env:
            return self._env[name]
        if name not in self._written:
            return self._defaults[name]
        if name in self._expanded:
            return self._expanded[name]
        if name in self._expanding:
            raise ValueError(f"{name} refers to itself: {' -> '.join([*self._expanding, name])}")
        if len(self._expanding) == MAX_CHAIN:
            chain = f"{self._expanding[0]} -> ... -> {name}"
            raise ValueError(f"more than {MAX_CHAIN} options refer to each other in a chain: {chain}")
        self._expanding.append(name)
        try:
            self._expanded[name] = expand(self._written[name], self)
        finally:
            self._expanding.pop()
        return self._expanded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._env or name in self._written or name in self._defaults

    def __iter__(self) -> Iterator[str]:
        return iter({**self._env, **self._written, **self._defaults})

    def __len__(self) -> int:
        return len({**self._env, **self._written, **self._defaults})
