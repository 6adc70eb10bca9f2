"""Fields by dotted path: `http.response.code` in nested objects.

A key may hold dots itself, as JSON from elsewhere does ("log.level" of the ECS loggers): it is found, written and
removed where the way by objects leads nowhere.
"""

from typing import Any

from shipper.errors import ShipperError

Path = tuple[str, ...]
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
# What differs between the events of one file; `log.file` is a root of its own, because it does not.
ROOTS_OF_EVENTS = frozenset({"message", "@timestamp", "log", "error", "@metadata"})


class ProcessorError(ShipperError):
    """What a processor could not do with an event, in words: they go into the event's `error.message`, and the event
    continues as it is by then."""


class FieldError(ProcessorError):
    """A field cannot be written where it was wanted."""


def path_of(dotted: str) -> Path:
    return tuple(dotted.split("."))


def dotted(path: Path) -> str:
    return ".".join(path)


def root_of(path: Path) -> str:
    """Return the name of what a processor touches: the first one of the path, and `log.file`."""
    return "log.file" if path[:2] == ("log", "file") else path[0]


def roots(*paths: Path) -> frozenset[str]:
    return frozenset(root_of(path) for path in paths)


def find(node: Any, path: Path) -> Any:
    """The value at the end of the path, or MISSING."""
    here = node
    for name in path:
        if type(here) is not dict or name not in here:
            return MISSING if len(path) == 1 else _find_dotted(node, path)
        here = here[name]
    return here


def _find_dotted(node: Any, path: Path) -> Any:
    holder, key = _holder(node, path)
    return MISSING if holder is None else holder[key]


def _holder(node: Any, path: Path) -> tuple[dict[str, Any] | None, str]:
    """The object on the way that has all the rest of the path as one key, and this key."""
    for depth, name in enumerate(path):
        if type(node) is not dict:
            break
        rest = ".".join(path[depth:])
        if rest in node:
            return node, rest
        node = node.get(name)
    return None, ""


def store(node: Any, path: Path, value: Any) -> None:
    """Write the value at the end of the path, and make the objects on the way. Raises FieldError."""
    if len(path) > 1:
        holder, key = _holder(node, path)
        if holder is not None:
            holder[key] = value
            return
    for name in path[:-1]:
        if type(node) is not dict:
            break
        node = node.setdefault(name, {})
    if type(node) is not dict:
        raise FieldError(f"{'.'.join(path)} cannot be written: something above '{path[-1]}' is not an object")
    node[path[-1]] = value


def remove(node: Any, path: Path) -> bool:
    """True if there was something at the end of the path."""
    holder, key = _holder(node, path)
    if holder is not None:
        del holder[key]
    return holder is not None
