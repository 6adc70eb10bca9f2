"""Convert the fields of a journal entry to the fields of an event, as Filebeat's.

Most fields are those of the process that wrote the entry, which are the same from entry to entry. Their conversion is
cached, by all fields that are not of the entry alone, and only the others are converted again.
"""

import re
from typing import Any

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied, merge
from log_shipper.shipper.inputs.journald.journal_fields import FIELDS, PARTIAL

Entry = dict[str, Any]

_KEPT = 1024  # processes, more or less
_MAX_KEPT_LENGTH = 8192  # characters of the fields of one
_ARGUMENT = re.compile(r'"(?:\\"|[^"])*?"|[^\t\n\f\r ]+')
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_PLACES = {name: (tuple(field.name.split(".")), field.integer) for name, field in FIELDS.items() if field.name}
_OTHERS = frozenset(FIELDS) - _PLACES.keys()
# Fields of one entry only; unless left out, they are below journald.custom.
_OF_ENTRY = ("__REALTIME_TIMESTAMP", "__SEQNUM", "SYSLOG_TIMESTAMP", "SYSLOG_RAW")
_TIMES = tuple(name for name in FIELDS if name.endswith("_TIMESTAMP"))


class Conversion:
    """The conversion of entries. `shared`: the fields of all events of the journal. `is_changed`: parsers or processors
    may change an event's document in place, so that no two documents may share a part."""

    def __init__(self, shared: Doc, *, keep_null: bool, save_remote_hostname: bool, is_changed: bool) -> None:
        self._shared = shared
        self._keep_null = keep_null
        self._save_remote_hostname = save_remote_hostname
        self._is_changed = is_changed
        self._kept: dict[frozenset[tuple[str, Any]], Doc] = {}

    def document(self, entry: Entry, event: Doc) -> Doc:
        """Return the fields of the entry, without its message and cursor. `event`: the field of that name."""
        for name in _TIMES:
            entry.pop(name, None)
        own = {name.lstrip("_").lower(): entry.pop(name) for name in _OF_ENTRY if name in entry}
        doc = dict(self._of_process(entry))
        journald = dict(doc.get("journald", {}))
        journald["custom"] = {**journald.get("custom", {}), **own}
        doc["journald"] = journald
        doc["event"] = event
        return copied(doc) if self._is_changed else doc

    def _of_process(self, entry: Entry) -> Doc:
        try:
            key = frozenset(entry.items())
            known = self._kept.get(key)
        except TypeError:  # a repeated field, or a binary one, is a list
            return self._convert(entry)
        if known is None:
            known = self._convert(entry)
            if sum(len(str(value)) for value in entry.values()) <= _MAX_KEPT_LENGTH:
                if len(self._kept) >= _KEPT:
                    self._kept.clear()
                self._kept[key] = known
        return known

    def _convert(self, entry: Entry) -> Doc:
        doc: Doc = {}
        custom: Doc = {}
        for name, value in entry.items():
            if value is None and not self._keep_null:
                continue
            place = _PLACES.get(name)
            if place is not None:
                _put(doc, place[0], _integer(value) if place[1] else value)
            elif name not in _OTHERS:
                custom[name.lstrip("_").lower()] = value
        if custom:
            _put(doc, ("journald", "custom"), custom)
        _enrich(doc)
        if self._save_remote_hostname and "hostname" in doc.get("host", {}):
            _put(doc, ("log", "source", "address"), doc["host"]["hostname"])
        self._join_shared(doc, entry)
        return doc

    def _join_shared(self, doc: Doc, entry: Entry) -> None:
        """Add the common fields below names that the document has too, which would hide them."""
        if entry.get(PARTIAL) == "true":
            doc["tags"] = [*self._shared.get("tags", ()), "partial_message"]
        for name in doc.keys() & self._shared.keys() - {"log", "tags"}:
            both = copied(self._shared[name])
            if isinstance(both, dict) and isinstance(doc[name], dict):
                merge(both, doc[name])
                doc[name] = both


def _put(doc: Doc, path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        doc = doc.setdefault(name, {})
    doc[path[-1]] = value


def _integer(value: Any) -> Any:
    """Return the number of a text; some versions of systemd append a user (`123,root`). Other texts stay."""
    if not isinstance(value, str):
        return value
    for text in (value, value.partition(",")[0]):
        if _INTEGER.fullmatch(text):
            return int(text)
    return value


def _enrich(doc: Doc) -> None:
    """Add the ECS fields. What an entry says on behalf of another process (`object`) takes precedence."""
    journald: Doc = doc.get("journald", {})
    for of in (journald, journald.get("object", {})):
        _put_user(doc, of)
    for of in (journald, journald.get("object", {})):
        _put_process(doc, of)
    mask = journald.get("process", {}).get("capabilities")
    names = capability_names(mask) if isinstance(mask, str) else []
    if names:
        _put(doc, ("process", "thread", "capabilities", "effective"), names)


def _put_user(doc: Doc, of: Doc) -> None:
    login = of.get("audit", {}).get("login_uid")
    if login is not None:
        login = _number(login)
        _put(doc, ("user", "id"), str(login))
    if "uid" not in of:
        return
    uid, gid = _number(of["uid"]), _number(of.get("gid"))
    path = ("user", "effective") if login is not None and login != uid else ("user",)
    _put(doc, (*path, "id"), str(uid))
    _put(doc, (*path, "group", "id"), str(gid))


def _put_process(doc: Doc, of: Doc) -> None:
    if "pid" in of:
        _put(doc, ("process", "pid"), _number(of["pid"]))
    line = of.get("process", {}).get("command_line")
    if not isinstance(line, str) or not line:
        return
    _put(doc, ("process", "command_line"), line)
    arguments = _ARGUMENT.findall(line)
    if arguments:
        _put(doc, ("process", "args"), arguments)
        _put(doc, ("process", "args_count"), len(arguments))


def _number(value: Any) -> int:
    return value if type(value) is int else 0


def message_of(value: Any) -> str:
    """Return the text of MESSAGE: unprintable bytes, and repeated messages, come as lists."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        if all(type(item) is int and 0 <= item < 256 for item in value):
            return bytes(value).decode("utf-8", "replace")
        return "\n".join(message_of(item) for item in value)
    return ""


_NAMES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
]
_DIGITS = frozenset("0123456789abcdefABCDEF")


def capability_names(mask: str) -> list[str]:
    """Return the names of a mask in hexadecimal digits; none if it is not a mask. One without a name is CAP_41."""
    if not mask or len(mask) > 16 or not _DIGITS.issuperset(mask):
        return []
    bits = int(mask, 16)
    return [
        f"CAP_{_NAMES[number] if number < len(_NAMES) else number}"
        for number in range(bits.bit_length())
        if bits >> number & 1
    ]
