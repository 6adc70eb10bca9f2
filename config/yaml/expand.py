"""Variables of the environment in a scalar.

`${VAR}` must be set, `${VAR:default}` need not be, `${VAR:?message}` fails with that message. A default may contain
variables itself, nested up to MAX_NESTED levels. `$${` stands for `${`. The value of a variable is data: it is not
expanded again.
"""

import re
from collections.abc import Mapping

MAX_NESTED = 8  # each level is another pass over the text; people write one or two
MAX_EXPANDED = 1024**2  # characters: the values of its variables may be far longer than the text
_BRACE = re.compile(r"\$\{|\}")


def expand(text: str, env: Mapping[str, str]) -> str:
    """Return the text with its variables filled in. Raises ValueError if one is not set or not closed, or if it is too
    long."""
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
            raise ValueError(f"has more than {MAX_EXPANDED:,} characters after its variables are filled in")
        position = end + 1
    return "".join(done) + text[position:]


def is_variable(text: str) -> bool:
    """True if the text is one variable and nothing else. Raises ValueError if it is not closed."""
    return text.startswith("${") and _closing(text, 0) == len(text) - 1


def _closing(text: str, start: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "${" else -1
        if depth == 0:
            return brace.start()
        if depth > MAX_NESTED:
            raise ValueError(f"more than {MAX_NESTED} variables are nested in each other's defaults")
    raise ValueError("'${' without '}'; write '$${' for the two characters themselves")


def _value(inside: str, env: Mapping[str, str]) -> str:
    name, colon, default = inside.partition(":")
    if name in env:
        return env[name]
    if default.startswith("?"):
        raise ValueError(f"variable {name} is not set: {default[1:]}")
    if not colon:
        raise ValueError(f"variable {name} is not set; write ${{{name}:value}} to give it a default")
    return expand(default, env)
