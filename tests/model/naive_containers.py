"""What the parser `container` is to do, written as plainly as possible: a whole file, line by line."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from log_shipper.shipper.event import TRUNCATED

CRI = re.compile(r"(\S+) (stdout|stderr) ([FP])(?::\S*)? (.*)", re.DOTALL)
# Times are written in one form here; that the forms are read right is the matter of test_times.py.
TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d*Z", re.ASCII)


@dataclass
class Naive:
    offset: int
    stream: str | None
    doc: dict[str, Any]
    group: int  # a message that began while another one was pending has the group of that one
    texts: list[str] = field(default_factory=list)
    whole: bool = False
    length: int = 0
    cost: int = 0
    given_up: bool = False

    @property
    def record(self) -> tuple[str, int, int, bool, dict[str, Any]]:
        return "".join(self.texts), self.offset, self.length, self.given_up, self.doc


def read_naively(
    content: bytes, stream: str, waiting_bytes: int, cuts: tuple[int, ...] = ()
) -> list[tuple[str, int, int, bool, dict[str, Any]]]:
    """Return text, offset, length, flag and members of each message; empty ones, and what is pending at the end of the
    content, are left out."""
    read: list[Naive] = []
    start = 0
    for cut in [*cuts, None]:
        messages: list[Naive] = []
        for raw in re.findall(rb"[^\n]*\n|[^\n]+", content[start:cut]):
            if raw.endswith(b"\n") or cut is not None:
                _take(messages, raw.rstrip(b"\n").decode(), start, len(raw), stream, waiting_bytes)
            start += len(raw)
        if cut is None:
            pending = {message.group for message in messages if not message.whole}
            messages = [message for message in messages if message.group not in pending]
        read += messages
    return [message.record for message in read if "".join(message.texts)]


def _take(messages: list[Naive], text: str, offset: int, length: int, only: str, waiting_bytes: int) -> None:
    stream, part, whole, doc = _parsed(text)
    if stream is not None and only not in ("all", stream):
        return
    pending = [message for message in messages if stream and message.stream == stream and not message.whole]
    message = pending[0] if pending else None
    if message is None:
        is_quiet = all(other.whole for other in messages)
        group = len(messages) if is_quiet else messages[-1].group
        message = Naive(offset, stream, doc, group)
        messages.append(message)
    message.texts.append(part)
    message.whole = whole
    message.cost += length + 256
    messages[-1].length = offset + length - messages[-1].offset
    first = next((index for index, other in enumerate(messages) if other.group == message.group), len(messages))
    if sum(later.cost for later in messages[first + 1 :]) > waiting_bytes:
        for other in messages:
            other.given_up = other.given_up or not other.whole
            other.whole = True


def _parsed(text: str) -> tuple[str | None, str, bool, dict[str, Any]]:
    """Return stream, text, True if the text is whole, and members."""
    if text.startswith("{"):
        try:
            row = json.loads(text)
            time = _time(row["time"])
        except (ValueError, KeyError):
            return None, text, True, {"error": "container"}
        if time is not None:
            doc = {"stream": row["stream"], "@timestamp": time}
            if row.get("attrs"):
                doc["docker"] = {"attrs": row["attrs"]}
            return row["stream"], row["log"].removesuffix("\n"), row["log"].endswith("\n"), doc
    elif line := CRI.fullmatch(text):
        time = _time(line[1])
        if time is not None:
            return line[2], line[4], line[3] == "F", {"stream": line[2], "@timestamp": time}
    return None, text, True, {"error": "container"}


def _time(text: str) -> str | None:
    match = TIME.fullmatch(text)
    return None if match is None or "-02-30T" in text else f"{match[1]}Z"


def flag(given_up: bool) -> tuple[str, ...]:
    return (TRUNCATED,) if given_up else ()
