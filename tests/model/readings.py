"""How the files of a program are read, and what is expected of it: parsers, an encoding, filters, processors; how the
program's lines are written in the file, and which text a stretch of raw bytes must give as a message.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.include_message import IncludeMessageConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.processors.add_fields import AddFieldsConfig
from log_shipper.shipper.processors.drop_event import DropEventConfig
from tests.builders import multiline

Parts = tuple[str, bool]  # the text of a line; True if the message's next line follows without a newline
CRI = "2026-01-01T00:00:00.5Z "
SECOND = "a second line"  # what is in each line of one kind


@dataclass(frozen=True)
class Reading:
    """`options` of the input. `write`: how a line is written in the file; `read`: the text of a line of the file.
    `dropped`: messages with this text are dropped. `joins`: indented lines may belong to the line before.
    `squeezes`: two parsers join lines, so an empty line may be inside of a message.
    """

    options: dict[str, Any] = field(default_factory=dict)
    codec: str = "utf-8"
    write: Callable[[str], str] = str
    read: Callable[[str], Parts] = lambda line: (line, False)
    dropped: str | None = None
    joins: bool = False
    squeezes: bool = False

    @property
    def newline(self) -> bytes:
        return "\n".encode(self.codec)

    def raw(self, line: str) -> bytes:
        """Return a line of a program, with or without its newline, as it is written in the file."""
        text = line.rstrip("\r\n")
        return (self.write(text) + line[len(text) :]).encode(self.codec)

    def text(self, raw: bytes) -> str:
        """Return the message that consists of these bytes: whole lines, except perhaps the last one."""
        text = ""
        for line in self._lines(raw):
            part, continues = self._part(line)
            text += part + ("" if continues else "\n")
        if self.squeezes:
            text = re.sub("\n+", "\n", text)
        return text.removesuffix("\n").lstrip("\n")  # empty lines at the beginning leave nothing

    def line_end(self, raw: bytes) -> int:
        """Return where the last whole line ends."""
        return raw.rfind(self.newline) + len(self.newline) if self.newline in raw else 0

    def shippable(self, raw: bytes, *, at_start: bool = False) -> bytes:
        """Return the bytes without the first messages, as long as these do not become events. `at_start` of a file,
        indented lines may belong to a message that was dropped."""
        groups: list[list[str]] = [[]] if at_start and self.dropped is not None else []
        for line in self._lines(raw):
            if groups and self.joins and self._part(line)[0][:1] in (" ", "\t"):
                groups[-1].append(line)
            else:
                groups.append([line])
        position = 0
        for number, group in enumerate(groups):
            text = "".join(self._part(line)[0] for line in group)
            is_dropped = self.dropped is not None and (self.dropped in text or (at_start and not number))
            if text and not is_dropped:
                break
            position += sum(len(line.encode(self.codec)) for line in group)
        return raw[position:]

    def beginning(self, raw: bytes, part: float) -> bytes:
        """Return the first lines: `part` of all, and one at least."""
        lines = self._lines(raw)
        return "".join(lines[: max(round(len(lines) * part), 1)]).encode(self.codec)

    def head(self, raw: bytes) -> bytes:
        """Return the first lines of a file that may belong to a message that began in another one."""
        head = []
        for line in self._lines(raw) if self.joins else ():
            if self._part(line)[0][:1] not in (" ", "\t"):
                break
            head.append(line)
        return "".join(head).encode(self.codec)

    def _part(self, line: str) -> Parts:
        return self.read(line.removesuffix("\n").removesuffix("\r"))

    def _lines(self, raw: bytes) -> list[str]:
        return re.findall(r"[^\n]*\n|[^\n]+", raw.decode(self.codec, "replace"))


def _json(text: str) -> str:
    return orjson.dumps({"message": text, "n": 1}).decode() if text else ""


def _of_json(line: str) -> Parts:
    try:
        return str(orjson.loads(line)["message"]), False
    except (orjson.JSONDecodeError, TypeError):
        return line, False  # two of them in one line, where a part was written without its end


def _cri(text: str) -> str:
    return f"{CRI}{'stderr' if text.endswith('indented') else 'stdout'} {'P' if text.endswith('more') else 'F'} {text}"


def _of_cri(line: str) -> Parts:
    if line.count(" ") < 3:
        return line, False  # bytes of another file, to which the message is compared
    _, _, tag, text = line.split(" ", 3)
    return text, tag == "P"


def _of_stdout(line: str) -> Parts:
    return ("", True) if " stderr " in line[: len(CRI) + 8] else _of_cri(line)


def _whole_cri(text: str) -> str:
    return f"{CRI}stdout F {text}"


_INDENTED = multiline(r"^\s")
_SECOND = ConditionConfig(contains={"message": SECOND})
LINES = Reading()
MULTILINE = Reading({"parsers": (_INDENTED,)})
READINGS = {
    "utf-16": Reading({"encoding": "utf-16le", "parsers": (_INDENTED,)}, "utf-16-le"),
    "latin1": Reading({"encoding": "latin1"}, "cp1252"),
    "count": Reading({"parsers": (MultilineConfig(type="count", count_lines=3, timeout=5.0),)}),
    "while": Reading({"parsers": (MultilineConfig(type="while_pattern", pattern=r"^\s", timeout=5.0),)}),
    "before": Reading({"parsers": (multiline("line$", match="before"),)}),
    "flush": Reading({"parsers": (MultilineConfig(pattern=r"^\s", flush_pattern="more", timeout=5.0),)}),
    "twice": Reading({"parsers": (_INDENTED, multiline("last|one"))}, squeezes=True),
    "ndjson": Reading({"parsers": (NdjsonConfig(),)}, write=_json, read=_of_json),
    "ndjson joined": Reading({"parsers": (NdjsonConfig(), _INDENTED)}, write=_json, read=_of_json),
    "cri": Reading({"parsers": (ContainerConfig(stream="stdout"),)}, write=_cri, read=_of_stdout),
    "cri joined": Reading({"parsers": (ContainerConfig(), _INDENTED)}, write=_whole_cri, read=_of_cri),
    "excluded": Reading({"exclude_lines": (SECOND,)}, dropped=SECOND),
    "excluded joined": Reading({"parsers": (_INDENTED,), "exclude_lines": (SECOND,)}, dropped=SECOND, joins=True),
    "not included": Reading(
        {"parsers": (_INDENTED, IncludeMessageConfig(patterns=("^[^a]*$|a[^ ]",)))}, dropped=SECOND, joins=True
    ),
    "processed": Reading(
        {
            "parsers": (_INDENTED,),
            "processors": (
                AddFieldsConfig(fields={"n": 1}),
                DropEventConfig(when=_SECOND),
                AddFieldsConfig(fields={"m": 2}),
            ),
        },
        dropped=SECOND,
        joins=True,
    ),
}
