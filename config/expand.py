"""Variables of the environment inside a scalar.

`${VAR}` must be set, `${VAR:default}` need not be, `${VAR:?message}` fails with that message. A default may hold
variables itself. `$${` stands for `${`. What a variable holds is never expanded again: its text is data.
"""

from collections.abc import Mapping


def expand(text: str, env: Mapping[str, str]) -> str:
    """The text with its variables filled in. Raises ValueError when one is not set or not closed."""
    done: list[str] = []
    at = 0
    while (start := text.find("${", at)) >= 0:
        if start > at and text[start - 1] == "$":
            done.append(text[at : start - 1] + "${")
            at = start + 2
            continue
        end = _closing(text, start)
        done.append(text[at:start] + _value(text[start + 2 : end], env))
        at = end + 1
    return "".join(done) + text[at:]


def is_variable(text: str) -> bool:
    """Whether it is one variable and nothing besides. Raises ValueError when it is not closed."""
    return text.startswith("${") and _closing(text, 0) == len(text) - 1


def _closing(text: str, start: int) -> int:
    depth, at = 0, start
    while at < len(text):
        if text.startswith("${", at):
            depth, at = depth + 1, at + 2
            continue
        if text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise ValueError("'${' without its '}'; write '$${' where the two characters themselves are meant")


def _value(inside: str, env: Mapping[str, str]) -> str:
    name, colon, default = inside.partition(":")
    if name in env:
        return env[name]
    if default.startswith("?"):
        raise ValueError(f"variable {name} is not set: {default[1:]}")
    if not colon:
        raise ValueError(f"variable {name} is not set; ${{{name}:value}} would give it a default")
    return expand(default, env)
