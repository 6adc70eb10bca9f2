"""`detect_mime_type`: detects the MIME type of a field.

As in Filebeat: first by the magic numbers of `filetype` (the same tables), then as browsers do
(mimesniff.spec.whatwg.org); plain text may then be JSON or XML.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar
from xml.parsers import expat

import filetype
import orjson

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectMimeTypeConfig(ProcessorConfig):
    """Detects the MIME type of a field's value by its first bytes."""

    name: ClassVar = "detect_mime_type"
    example: ClassVar = """
        detect_mime_type: {field: body, target: type} -> {body: '%PDF-1.7'}
          -> {body: '%PDF-1.7', type: application/pdf}
    """
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field to examine."})
    target: str = field(
        metadata={"check": not_blank, "doc": "The field that the type is written to; an unknown type is not written."}
    )

    def check(self) -> Iterator[Finding]:
        if self.source == self.target:
            yield "target", "must differ from field: it would overwrite the value itself"

    def build(self, _: ProcessorContext) -> EventProcessor:
        return DetectMimeType(self)


_HEAD = 8192
_SNIFFED = 512
_UTF8 = "; charset=utf-8"
_OTHERS = {
    b"MZ": "application/vnd.microsoft.portable-executable",
    b"L\0\0\0": "application/x-ms-shortcut",
    **dict.fromkeys(
        (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),
        "application/x-mach-binary",
    ),
}
_MARKS = {b"\xfe\xff": "text/plain; charset=utf-16be", b"\xff\xfe": "text/plain; charset=utf-16le"}
_HTML = re.compile(
    rb"[\t\n\f\r ]*(?:<!--|<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >])",
    re.IGNORECASE,
)
_XML = re.compile(rb"[\t\n\f\r ]*<\?xml")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class DetectMimeType:
    def __init__(self, config: DetectMimeTypeConfig) -> None:
        self._field = path_of(config.source)
        self._target = path_of(config.target)
        self.touches: frozenset[str] | None = roots(self._field, self._target)

    def apply(self, event: Event) -> None:
        value = event.get(self._field)
        if not isinstance(value, str | bytes) or not value:
            return
        kind = mime_type(value.encode("utf-8", "replace") if isinstance(value, str) else value)
        if kind:
            event.put(self._target, kind)


def mime_type(data: bytes) -> str | None:
    """Return the MIME type; None if it is unknown."""
    for magic, kind in _OTHERS.items():
        if data.startswith(magic):
            return kind
    known: Any = filetype.guess(data[:_HEAD])
    if known is not None:
        mime: str = known.mime
        return mime
    sniffed = _sniffed(data[:_SNIFFED])
    if sniffed is not None and sniffed.startswith("text/plain"):
        return _encoded(data) or sniffed
    return sniffed


def _sniffed(head: bytes) -> str | None:
    if _HTML.match(head):
        return "text/html" + _UTF8
    if _XML.match(head):
        return "text/xml" + _UTF8
    if head[:2] in _MARKS:
        return _MARKS[head[:2]]
    return None if _BINARY.search(head) else "text/plain" + _UTF8


def _encoded(data: bytes) -> str | None:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return "text/xml" if _is_xml(data) else None
    return "application/json"


def _is_xml(data: bytes) -> bool:
    """Return True if the data begins with a complete element. Custom entities are rejected: they can expand to any
    size."""
    if data.lstrip()[:1] != b"<" or b"<!ENTITY" in data:
        return False
    try:
        expat.ParserCreate().Parse(data, True)
    except expat.ExpatError as error:
        return error.code == expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
    return True
