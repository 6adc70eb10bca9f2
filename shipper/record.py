"""What the records of a file share, and how a record writes paths and times (ARCHITECTURE.md, "The record")."""

import os
import time
from dataclasses import dataclass
from functools import lru_cache

import orjson

from shipper.errors import StartError
from shipper.event import Doc

ECS_VERSION = "8.17.0"
OWN_MEMBERS = frozenset({"@timestamp", "message", "log", "input", "host", "agent", "ecs"})


@dataclass(frozen=True, slots=True)
class Agent:
    """Who sends: `host` and `name` for host.name and agent.name, `id` kept in the data path."""

    host: str
    name: str
    id: str
    version: str


def file_member(file_id: str, path: str, inode: int, device: int) -> Doc:
    """`log.file`."""
    return {"path": readable_path(path), "inode": str(inode), "device_id": str(device), "id": file_id}


def members(agent: Agent, input_type: str, input_id: str, file: Doc, static: Doc) -> Doc:
    """All that the records of one file share; `static` is what `static_members` gives."""
    return {
        "log": {"file": file},
        **static,
        "input": {"type": input_type, "id": input_id},
        "host": {"name": agent.host},
        "agent": {"type": "shipper", "version": agent.version, "id": agent.id, "name": agent.name},
        "ecs": {"version": ECS_VERSION},
    }


def static_members(tags: tuple[str, ...], fields: Doc, rooted: Doc) -> Doc:
    """The members that the configuration gives to each record. `fields` go below the member `fields`, `rooted` ones
    are members of the record itself. Raises StartError for those that cannot."""
    if taken := sorted(OWN_MEMBERS & rooted.keys()):
        # Two members of one name: most readers keep one of them, and the sink refuses the record.
        raise StartError(f"fields_under_root: every record has '{taken[0]}' already; give the field another name")
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
    """A path may hold any bytes; what is written or shown holds UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds, as Elastic Common Schema has it."""
    milliseconds = int(seconds * 1000)
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"
