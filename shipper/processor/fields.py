"""Fields by dotted path: `http.response.code` in nested objects.

A key may hold dots itself, as JSON from elsewhere does: it is found where the way by objects leads nowhere.
"""

from typing import Any

from shipper.errors import ShipperError

Path = tuple[str, ...]
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
# What differs between the events of one file; `log.file` is a root of its own, because it does not.
ROOTS_OF_EVENTS = frozenset({"message", "@timestamp", "log", "error", "@metadata"})


class FieldError(ShipperError):
    """A field cannot be written where it was wanted."""


def path_of(dotted: str) -> Path:
    return tuple(dotted.split("."))


def dotted(path: Path) -> str:
    return ".".join(path)


def root_of(path: Path) -> str:
    """The name by which a processor says what it touches: the first one of the path, and `log.file`."""
    return "log.file" if path[:2] == ("log", "file") else path[0]


def roots(*paths: Path) -> frozenset[str]:
    return frozenset(root_of(path) for path in paths)


def find(node: Any, path: Path) -> Any:
    """The value at the end of the path, or MISSING."""
    for depth, name in enumerate(path):
        if not isinstance(node, dict):
            return MISSING
        if name not in node:
            return node.get(".".join(path[depth:]), MISSING)
        node = node[name]
    return node


def store(node: Any, path: Path, value: Any) -> None:
    """Write the value at the end of the path, and make the objects on the way. Raises FieldError."""
    for depth, name in enumerate(path):
        if not isinstance(node, dict):
            raise FieldError(f"{'.'.join(path)} cannot be written: what is above '{name}' is no object")
        if depth == len(path) - 1:
            node[name] = value
        else:
            node = node.setdefault(name, {})


def remove(node: Any, path: Path) -> bool:
    """Whether there was something at the end of the path."""
    for depth, name in enumerate(path):
        if not isinstance(node, dict):
            return False
        if depth == len(path) - 1 or name not in node:
            return node.pop(".".join(path[depth:]), MISSING) is not MISSING
        node = node[name]
    return False


def copied(value: Any) -> Any:
    """The same value, with containers of its own."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [copied(each) for each in value]
    return value


def merge(into: dict[str, Any], values: dict[str, Any], *, overwrite: bool = True) -> None:
    """Write the values into the object, object by object; what is no object on both sides is replaced, or kept."""
    for name, value in values.items():
        here = into.get(name, MISSING)
        if isinstance(here, dict) and isinstance(value, dict):
            merge(here, value, overwrite=overwrite)
        elif here is MISSING or overwrite:
            into[name] = value
