"""The member `log` of an event, stored in three places: offset, length and flags are columns, `log.file` is shared by
the events of the file, and the rest is in the event's own document.

Processors cannot change `log.offset`, `log.length` and `log.file.id`: the sink recognises repeats by them.
"""

from typing import Any

from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.processor.fields import MISSING, FieldError, Path, find, remove, store

_COLUMNS = frozenset({"offset", "length", "flags"})
_POSITION = (("offset",), ("length",))
_FLAGS = ("log", "flags")
_FILE = ("log", "file")
_NOTHING: Doc = {}


def is_kept(path: Path) -> bool:
    return path[0] == "log" and (path[1:2] in _POSITION or path[1:3] == ("file", "id"))


def get_log(messages: Messages, shared: Doc, index: int, path: Path) -> Any:
    """Return the value, not to be changed in place, or MISSING; `shared`: the constants of the file."""
    own: Doc = _NOTHING if messages.docs is None else messages.docs[index].get("log", _NOTHING)
    of_file: Doc = shared.get("log", _NOTHING)
    if len(path) == 1:
        return {**_columns(messages, index), **of_file, **own}
    if path[1] in _COLUMNS:
        return _columns(messages, index).get(path[1], MISSING) if len(path) == 2 else MISSING
    value = find(own, path[1:])
    return value if value is not MISSING or path[1] in own else find(of_file, path[1:])


def _columns(messages: Messages, index: int) -> Doc:
    columns: Doc = {"offset": messages.offsets[index], "length": messages.lengths[index]}
    if index in messages.flags:
        columns["flags"] = list(messages.flags[index])
    return columns


def put_log(messages: Messages, shared: Doc, index: int, path: Path, value: Any) -> None:
    """Write a value; an object written to `log` itself is merged with the existing one. Raises FieldError."""
    if is_kept(path):
        return
    if len(path) == 1:
        if not isinstance(value, dict):
            raise FieldError("cannot set log: it must stay an object")
        for key, member in value.items():
            put_log(messages, shared, index, ("log", key), member)
    elif path == _FLAGS:
        if not isinstance(value, list | tuple) or not all(isinstance(flag, str) for flag in value):
            raise FieldError("cannot set log.flags: the new value is not a list of strings")
        messages.flags[index] = tuple(value)
    elif path == _FILE:
        members = value if isinstance(value, dict) else {}
        _own(messages, shared, index, path)["file"] = {**members, **_id(messages, shared, index)}
    else:
        _own(messages, shared, index, path)
        store(messages.documents()[index], path, value)


def delete_log(messages: Messages, shared: Doc, index: int, path: Path) -> None:
    if path in (("log",), _FLAGS):
        messages.flags.pop(index, None)
    if path == ("log",):
        messages.documents()[index]["log"] = {"file": _id(messages, shared, index)}
    elif path == _FILE:
        _own(messages, shared, index, path)["file"] = _id(messages, shared, index)
    elif path != _FLAGS:
        remove(_own(messages, shared, index, path), path[1:])


def _own(messages: Messages, shared: Doc, index: int, path: Path) -> Doc:
    """Return the event's own part, with a copy of `file` if that is about to change."""
    own: Doc = messages.documents()[index].setdefault("log", {})
    if path[1] == "file" and "file" not in own:
        own["file"] = copied(shared["log"]["file"])
    return own


def _id(messages: Messages, shared: Doc, index: int) -> Doc:
    return {"id": get_log(messages, shared, index, ("log", "file", "id"))}
