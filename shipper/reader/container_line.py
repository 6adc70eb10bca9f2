r"""The two line formats of container runtimes.

CRI (containerd, CRI-O):    2016-10-06T00:17:09.669794202Z stdout F the text
                            P instead of F: a partial line, continued in the next ones
docker (json-file):         {"log":"the text\n","stream":"stdout","time":"2016-10-06T00:17:09.669794202Z"}
                            a log without \n at its end is a partial line

A run of lines is parsed in columns, at a third of the cost of parsing line by line. Unusual runs are parsed line by
line; both ways must give the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.times import rfc3339, rfc3339_column

STREAMS = frozenset({"stdout", "stderr"})


class ContainerLineError(ShipperError):
    """Raised for a line that is not in a container runtime's format; the message is the reason."""


class ContainerLine(NamedTuple):  # created per unusual line, at a third of a frozen dataclass's cost
    """A parsed line. `doc`: members for its event; `whole`: it is complete, or the last part."""

    text: str
    stream: str
    doc: Doc
    whole: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of complete lines."""

    texts: list[str]
    streams: list[str]
    docs: list[Doc]


ContainerFormat = Literal["auto", "docker", "json-file", "cri"]
ParseLine = Callable[[str], ContainerLine]  # Raises ContainerLineError.
ParseLines = Callable[[list[str]], Columns | None]  # None: parse line by line.


def parsers(format: ContainerFormat) -> tuple[ParseLine, ParseLines]:
    match format:
        case "cri":
            return cri, cri_columns
        case "docker" | "json-file":
            return docker, docker_columns
        case "auto":
            return (
                lambda text: docker(text) if text[:1] == "{" else cri(text),
                lambda texts: docker_columns(texts) if texts[0][:1] == "{" else cri_columns(texts),
            )


def cri(text: str) -> ContainerLine:
    words = text.split(" ", 3)
    if len(words) < 4 or words[1] not in STREAMS:
        raise ContainerLineError("it is not in the form '<time> stdout|stderr <tag> <text>'")
    tag = words[2].split(":", 1)[0]
    if tag not in ("F", "P"):
        raise ContainerLineError(f"its tag {tag[:20]!r} is neither F(ull) nor P(artial)")
    return ContainerLine(words[3], words[1], _doc(words[0], words[1]), tag == "F")


def cri_columns(texts: list[str]) -> Columns | None:
    try:
        times, streams, tags, contents = zip(*[text.split(" ", 3) for text in texts], strict=True)
    except ValueError:  # one of them has fewer words
        return None
    if not STREAMS.issuperset(streams) or tags.count("F") != len(tags):
        return None
    stamps = rfc3339_column(times)
    if stamps is None:
        return None
    docs: list[Doc] = [{"stream": stream, "@timestamp": stamp} for stream, stamp in zip(streams, stamps, strict=True)]
    return Columns(list(contents), list(streams), docs)


def docker(text: str) -> ContainerLine:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ContainerLineError(f"it is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ContainerLineError("it is not a JSON object")
    log, stream, time, attrs = row.get("log"), row.get("stream", ""), row.get("time"), row.get("attrs")
    if not (isinstance(log, str) and isinstance(stream, str) and isinstance(time, str)):
        raise ContainerLineError("log, stream and time must be texts")
    doc = _doc(time, stream)
    if isinstance(attrs, dict) and attrs:
        doc["docker"] = {"attrs": attrs}
    return ContainerLine(_without_newline(log), stream, doc, log[-1:] == "\n")


def docker_columns(texts: list[str]) -> Columns | None:
    try:
        rows = [orjson.loads(text) for text in texts if text[:1] == "{"]
        logs = [row["log"] for row in rows]
        streams = [row["stream"] for row in rows]
        stamps = rfc3339_column([row["time"] for row in rows])
        is_plain = STREAMS.issuperset(streams) and all(log[-1:] == "\n" for log in logs)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    if len(rows) != len(texts) or stamps is None or not is_plain:
        return None
    docs: list[Doc] = [{"stream": stream, "@timestamp": stamp} for stream, stamp in zip(streams, stamps, strict=True)]
    for row, doc in zip(rows, docs, strict=True):
        if len(row) > 3 and isinstance(attrs := row.get("attrs"), dict) and attrs:
            doc["docker"] = {"attrs": attrs}
    return Columns([_without_newline(log) for log in logs], streams, docs)


def _without_newline(log: str) -> str:
    return log.removesuffix("\n").removesuffix("\r") if log[-1:] == "\n" else log


def _doc(time: str, stream: str) -> Doc:
    stamp = rfc3339(time)
    if stamp is None:
        raise ContainerLineError(f"its time {time[:40]!r} is not RFC 3339")
    return {"stream": stream, "@timestamp": stamp} if stream else {"@timestamp": stamp}
