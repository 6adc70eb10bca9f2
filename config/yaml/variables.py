"""The values of `${name}`: a variable of the environment, or another option of the same configuration.

As in Filebeat, `${path.config}` is the value of the option `path.config`. A variable of the environment takes
precedence; its text is data and is not expanded.

An option may refer to another that refers to a third, in a chain of up to MAX_CHAIN options. Each is expanded once: if
each of them named the next one twice, the last would otherwise be expanded 2**8 times.
"""

from collections.abc import Iterator, Mapping

from config.yaml.expand import expand
from config.yaml.tree import Scalar, Section, is_null

MAX_CHAIN = 8


class Variables(Mapping[str, str]):
    """A mapping of names to values. Raises ValueError for an option that refers to itself, and for a chain that is too
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
