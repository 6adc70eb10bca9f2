"""Sections that are read later and repeatedly, with different values of some variables.

On loading, such a section is first read as a trial, with a placeholder for each of these variables, so that its errors
are reported together with all others. Values that depend on a placeholder are not checked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from log_shipper.config.yaml.tree import ListNode, Node, Scalar, Section

LATER = "data."  # prefixes of variables that have no value yet
PLACEHOLDER = "placeholder"


class Template:
    """A written section, with the configuration's variables and dialect.

    Not a dataclass, which would be read as a section of options.
    """

    __slots__ = ("env", "path", "section", "tolerant")

    def __init__(self, section: Section, path: str, env: Mapping[str, str], *, tolerant: bool) -> None:
        self.section = section
        self.path = path
        self.env = env
        self.tolerant = tolerant

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and (self.section, self.path) == (other.section, other.path)

    def __hash__(self) -> int:
        return hash((self.section, self.path))

    def __repr__(self) -> str:
        return f"Template({self.path})"

    def with_section(self, section: Section) -> "Template":
        return Template(section, self.path, self.env, tolerant=self.tolerant)


@dataclass(frozen=True, slots=True)
class LateVariables(Mapping[str, str]):
    """Variables, preceded by those of a template. `value_of` returns None for an unknown one."""

    value_of: Callable[[str], str | None]
    env: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        if not name.startswith(LATER):
            return self.env[name]
        value = self.value_of(name.removeprefix(LATER))
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name.startswith(LATER):
            return self.value_of(name.removeprefix(LATER)) is not None
        return name in self.env

    def __iter__(self) -> Iterator[str]:
        return iter(self.env)

    def __len__(self) -> int:
        return len(self.env)


def placeholders(env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables of a trial."""
    return LateVariables(lambda _: PLACEHOLDER, env)


def undecided(node: Node) -> set[tuple[str, int]]:
    """Return the places (file, line) of the scalars with unknown values."""
    return {(scalar.place.file, scalar.place.line) for scalar in _scalars(node) if _is_late(scalar)}


def has_late_variable(node: Node) -> bool:
    """Return True if a value in it changes between readings."""
    return any(map(_is_late, _scalars(node)))


def escape_late(node: Node) -> Node:
    """Return the tree with these variables as plain text, for printing."""
    if isinstance(node, Section):
        return replace(node, entries=tuple(replace(entry, node=escape_late(entry.node)) for entry in node.entries))
    if isinstance(node, ListNode):
        return replace(node, items=tuple(map(escape_late, node.items)))
    return replace(node, text=node.text.replace(f"${{{LATER}", f"$${{{LATER}")) if _is_late(node) else node


def _is_late(scalar: Scalar) -> bool:
    return f"${{{LATER}" in scalar.text


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from _scalars(item)
    else:
        for entry in node.entries:
            yield from _scalars(entry.node)
