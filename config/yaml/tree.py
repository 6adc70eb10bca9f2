"""The tree of a configuration, in which each node has its place.

A section keeps its keys as they were written. `children` follows one step of a dotted path, `leaves` all of them: so
`a.b: 1` and `a: {b: 1}` mean the same wherever options are read, and a raw map may contain both `api.version.request`
and `api.version.request.timeout.ms`. An entry's rank is 0 in the file, and 1, 2, ... for the -E overrides: the higher
one wins, equal ones clash. Of several files the last has rank 0, those before it -1, -2, ...

The items of a list have their indices as names, so that an override can name one: `inputs.0.id`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from log_shipper.config.yaml.errors import Place


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str = field(repr=False)  # may be a secret
    kind: str  # YAML's short tag: str, int, float, bool, null, timestamp, ...
    plain: bool  # unquoted: typed again after variables are expanded
    place: Place


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple["Node", ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    node: "Node"
    place: Place
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A section. `name` replaces its path in problems, if it was written in another file than the enclosing section."""

    entries: tuple[Entry, ...]
    place: Place
    name: str = ""

    def children(self, clash: "Clash") -> dict[str, "Node"]:
        """Return the nodes one step below, merging dotted and nested spellings."""
        return _joined(map(_first_step, self.entries), clash)

    def leaves(self, clash: "Clash") -> dict[str, "Node"]:
        """Return the leaves, by their whole dotted key below this section."""
        return _joined(_ends(self, ""), clash)


Node = Scalar | ListNode | Section
Clash = Callable[[str, Place, Place], None]  # key, place of the first, place of the second


def _first_step(entry: Entry) -> Entry:
    head, dot, rest = entry.key.partition(".")
    if not dot:
        return entry
    return replace(entry, key=head, node=Section((replace(entry, key=rest),), entry.place))


def _ends(section: Section, prefix: str) -> Iterator[Entry]:
    for entry in section.entries:
        key = prefix + entry.key
        if isinstance(entry.node, Section):
            yield from _ends(entry.node, key + ".")
        else:
            yield replace(entry, key=key)


def _joined(entries: Iterable[Entry], clash: Clash) -> dict[str, Node]:
    joined: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.rank):
        before = joined.get(entry.key)
        joined[entry.key] = entry if before is None else _join(before, entry, clash)
    return {key: entry.node for key, entry in joined.items()}


def _join(first: Entry, second: Entry, clash: Clash) -> Entry:
    if isinstance(first.node, Section) and isinstance(second.node, Section):
        return replace(second, node=replace(first.node, entries=first.node.entries + second.node.entries))
    if isinstance(first.node, ListNode) and isinstance(second.node, Section) and second.rank > first.rank:
        return replace(second, node=_with_items(first, second.node, clash) or second.node)
    if second.rank > first.rank or is_null(first.node):
        return second
    if not is_null(second.node):
        clash(first.key, first.place, second.place)
    return first


def _with_items(listed: Entry, changes: Section, clash: Clash) -> ListNode | None:
    """Return the list with these items by index; None if that leaves a gap, or if keys are not indices."""
    assert isinstance(listed.node, ListNode)
    items = list(listed.node.items)
    named = {key: entry for entry in map(_first_step, changes.entries) for key in [entry.key]}
    if not all(map(_is_index, named)):
        return None
    for key, node in sorted(changes.children(clash).items(), key=lambda indexed: int(indexed[0])):
        index = int(key)
        if index > len(items):
            return None
        if index == len(items):
            items.append(node)
        else:
            items[index] = _join(replace(listed, node=items[index]), replace(named[key], node=node), clash).node
    return ListNode(tuple(items), listed.node.place)


def as_list(node: Node) -> ListNode | None:
    """Return a list, also for a section of indices; a single value becomes a list of one."""
    if isinstance(node, ListNode):
        return node
    if isinstance(node, Scalar):
        return ListNode((node,), node.place)
    children = node.children(lambda *_: None)
    if not children or set(children) != set(map(str, range(len(children)))):
        return None
    return ListNode(tuple(children[str(index)] for index in range(len(children))), node.place)


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdecimal()


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == "null"
