"""Fields by dotted path: `http.response.code` in nested objects.

A key may contain dots itself, as in foreign JSON ("log.level" of the ECS loggers): it is used if the path through
nested objects does not exist.
"""

from typing import Any

from log_shipper.shipper.errors import ShipperError

Path = tuple[str, ...]
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
# Members that differ between events of a file; `log.file`, which does not, is a separate root.
ROOTS_OF_EVENTS = frozenset({"message", "@timestamp", "log", "error", "@metadata"})


class ProcessorError(ShipperError):
    """Raised when a processor cannot process an event. The message is added to the event's `error.message`, `members`
    to its `error`, and the event continues unchanged."""

    def __init__(self, message: str = "", **members: str) -> None:
        super().__init__(message)
        self.members = members


class FieldError(ProcessorError):
    """Raised when a field cannot be written at a path."""


def path_of(dotted: str) -> Path:
    return tuple(dotted.split("."))


def dotted(path: Path) -> str:
    return ".".join(path)


def root_of(path: Path) -> str:
    """Return the first name of the path, or `log.file`."""
    return "log.file" if path[:2] == ("log", "file") else path[0]


def roots(*paths: Path) -> frozenset[str]:
    return frozenset(root_of(path) for path in paths)


def find(node: Any, path: Path) -> Any:
    """Return the value at the path, or MISSING."""
    value = node
    for name in path:
        if type(value) is not dict or name not in value:
            return MISSING if len(path) == 1 else _find_dotted(node, path)
        value = value[name]
    return value


def _find_dotted(node: Any, path: Path) -> Any:
    holder, key = _holder(node, path)
    return MISSING if holder is None else holder[key]


def _holder(node: Any, path: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the object that has the remaining path as one key, and that key; None if there is none."""
    for depth, name in enumerate(path):
        if type(node) is not dict:
            break
        rest = ".".join(path[depth:])
        if rest in node:
            return node, rest
        node = node.get(name)
    return None, ""


def store(node: Any, path: Path, value: Any) -> None:
    """Write the value at the path, creating the objects above it. Raises FieldError."""
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
    """Remove the value at the path. Return True if it existed."""
    holder, key = _holder(node, path)
    if holder is not None:
        del holder[key]
    return holder is not None
