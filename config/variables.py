"""What `${name}` stands for: a variable of the environment, or another option of the same configuration.

As in Filebeat, `${path.config}` is what the configuration says of `path.config`. A variable of the environment comes
first; its text is data and is not looked through for variables.
"""

from collections.abc import Iterator, Mapping

from config.expand import expand
from config.tree import Scalar, Table, is_null


class Variables(Mapping[str, str]):
    """Raises ValueError for an option that refers to itself."""

    def __init__(self, root: Table, env: Mapping[str, str], defaults: Mapping[str, str]) -> None:
        """`defaults`: of options that are not written."""
        leaves = root.leaves(lambda *_: None)
        self._written = {
            key: node.text for key, node in leaves.items() if isinstance(node, Scalar) and not is_null(node)
        }
        self._env = env
        self._defaults = defaults
        self._under_way: list[str] = []

    def __getitem__(self, name: str) -> str:
        if name in self._env:
            return self._env[name]
        if name not in self._written:
            return self._defaults[name]
        if name in self._under_way:
            raise ValueError(f"{name} refers to itself: {' -> '.join([*self._under_way, name])}")
        self._under_way.append(name)
        try:
            return expand(self._written[name], self)
        finally:
            self._under_way.pop()

    def __contains__(self, name: object) -> bool:
        return name in self._env or name in self._written or name in self._defaults

    def __iter__(self) -> Iterator[str]:
        return iter({**self._env, **self._written, **self._defaults})

    def __len__(self) -> int:
        return len({**self._env, **self._written, **self._defaults})
