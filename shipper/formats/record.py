"""The members shared by the records of a file, and the format of paths and times in records
(docs/reference/kafka-records.md)."""

import grp
import os
import pwd
import time
from dataclasses import dataclass
from functools import lru_cache

import orjson

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Doc

ECS_VERSION = "8.17.0"
# Members that do not come from the configuration alone.
BUILT_IN = frozenset({"@metadata", "input", "host", "agent", "ecs", "log", "tags"})


@dataclass(frozen=True, slots=True)
class Agent:
    """The sender: `host` and `name` for host.name and agent.name, `id` as stored in the data path."""

    host: str
    name: str
    id: str
    version: str


def file_member(file_id: str, path: str, inode: int, device: int) -> Doc:
    """Return `log.file`."""
    return {"path": readable_path(path), "inode": str(inode), "device_id": str(device), "id": file_id}


def owner_members(fd: int, *, owner: bool, group: bool) -> Doc:
    """Return the names of a file's owner and group, for `log.file`. Raises OSError."""
    status = os.fstat(fd)
    members: Doc = {"owner": user_name(status.st_uid)} if owner else {}
    return members | ({"group": group_name(status.st_gid)} if group else {})


# Cached, because a directory service may be slow, and all files of an application have the same owner.
@lru_cache(maxsize=1024)
def user_name(uid: int) -> str:
    """Return the user name, or the number if there is no such user, as for files of a container."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@lru_cache(maxsize=1024)
def group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def members_of_file(of_input: Doc, file: Doc) -> Doc:
    """Return the members shared by the records of a file: those of its input, and `log.file`."""
    log = {"file": file}
    shared = {"log": log, **of_input}
    if "log" in of_input:
        shared["log"] = merged(log, of_input["log"])
    return shared


def members_of_input(agent: Agent, input_type: str, input_id: str, static: Doc, *, with_host: bool = True) -> Doc:
    """Return the members shared by all records of an input; `static`, from `static_members`, takes precedence, and may
    set a host even without the agent's own."""
    own: Doc = {
        "input": {"type": input_type, "id": input_id},
        "host": {"name": agent.host},
        "agent": {"type": "shipper", "version": agent.version, "id": agent.id, "name": agent.name},
        "ecs": {"version": ECS_VERSION},
    }
    if not with_host:
        del own["host"]
    others = {name: value for name, value in static.items() if name not in own}
    return merged({**others, **own}, static)


def merged(below: Doc, above: Doc) -> Doc:
    """Return both, merging objects; for other common members, `above` wins."""
    both = dict(below)
    for name, value in above.items():
        before = both.get(name)
        both[name] = merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return both


def static_members(tags: tuple[str, ...], fields: Doc, rooted: Doc) -> Doc:
    """Return the members that the configuration adds to each record: `fields` below `fields`, `rooted` at the root.
    Raises StartError for those that cannot be added."""
    static: Doc = {"tags": list(tags)} if tags else {}
    if fields:
        static["fields"] = fields
    static |= rooted
    try:
        orjson.dumps(static)
    except TypeError as error:
        raise StartError(f"fields: a value cannot be written as JSON: {error}") from error
    return static


def readable_path(path: str) -> str:
    """Return a path as valid UTF-8: a path may contain any bytes."""
    return os.fsencode(path).decode("utf-8", "replace")


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def timestamp(seconds: float) -> str:
    """Return a time in RFC 3339, UTC, with milliseconds, as in Elastic Common Schema."""
    milliseconds = int(seconds * 1000)
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"
