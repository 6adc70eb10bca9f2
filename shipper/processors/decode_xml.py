"""`decode_xml`: decodes an XML document into objects.

A log line is hostile input. Expat gets the whole text at once, resolves nothing external, and stops at a document type
with declarations, without which no entity can be expanded and no attribute has a default. Depth and number of nodes are
bounded: an empty element takes 4 bytes, its object some hundred.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar
from xml.parsers import expat

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import DEEPEST, pop_text
from log_shipper.shipper.options.processors import IGNORE_FAILURE, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.decoding.at_root import merge_at_root
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import text_in
from log_shipper.shipper.processor.fields import Path, ProcessorError, path_of, roots

MAX_NODES = 100_000  # elements and attributes of one document
# The memory of its objects: at most so many times its bytes, and so many bytes for each of its nodes.
TIMES_THE_BYTES, BYTES_OF_A_NODE = 40, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeXmlConfig(ProcessorConfig):
    """Decodes a field that contains XML. Entities are not expanded: a document that declares its own is an error, as is
    one with more than 200 levels or 100,000 elements and attributes."""

    name: ClassVar = "decode_xml"
    example: ClassVar = """
        decode_xml: {target_field: xml} -> {message: '<order id="7"><item>tea</item></order>'}
          -> {message: '<order id="7"><item>tea</item></order>', xml: {order: {id: "7", item: tea}}}
    """
    strict: ClassVar = True
    source: str = field(default="message", metadata={"key": "field", "check": not_blank, "doc": "The field to decode."})
    target_field: str | None = field(
        default=None,
        metadata={
            "doc": "The field that the result is written to; the same field when absent, the event itself when empty."
        },
    )
    overwrite_keys: bool = field(
        default=True, metadata={"doc": "Whether existing fields are overwritten; with an empty target_field."}
    )
    to_lower: bool = field(
        default=True, metadata={"doc": "Whether names of elements and attributes are converted to lower case."}
    )
    document_id: str = field(
        default="", metadata={"doc": "An element or attribute whose value is moved to @metadata._id."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=IGNORE_FAILURE)

    @property
    def growth(self) -> tuple[int, int]:
        return TIMES_THE_BYTES, MAX_NODES * BYTES_OF_A_NODE

    def may_set(self, root: str) -> bool:
        return True

    def build(self, _: ProcessorContext) -> EventProcessor:
        return DecodeXml(self)


_ID: Path = ("@metadata", "_id")


class DecodeXml:
    def __init__(self, config: DecodeXmlConfig) -> None:
        self._config = config
        self._source = path_of(config.source)
        target = config.source if config.target_field is None else config.target_field
        self._target: Path = path_of(target) if target else ()
        ids = [_ID] if config.document_id else []
        self.touches: frozenset[str] | None = roots(self._source, self._target, *ids) if self._target else None

    def apply(self, event: Event) -> None:
        text = text_in(event, self._source, ignore_missing=self._config.ignore_missing)
        if text is None:
            return
        try:
            fields = parse_xml(text, to_lower=self._config.to_lower)
        except (expat.ExpatError, ValueError) as error:
            raise ProcessorError(f"field {self._config.source} cannot be decoded as XML: {error}") from error
        identity = pop_text(fields, self._config.document_id) if self._config.document_id else None
        if self._target:
            event.put(self._target, fields)
        elif wrong := merge_at_root(event, fields, overwrite=self._config.overwrite_keys):
            raise ProcessorError("; ".join(wrong))
        if identity is not None:
            event.put(_ID, identity)


def parse_xml(text: str, *, to_lower: bool) -> Doc:
    """Return the root element by name. An element with attributes or children is an object, with its text in `#text`;
    any other element is its text. Repeated names become lists. Raises ExpatError, ValueError."""
    # The declared encoding no longer applies: the file was decoded when it was read.
    parser = expat.ParserCreate("utf-8")
    tree = _Tree(to_lower)
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    parser.CharacterDataHandler = tree.text
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.SkippedEntityHandler = _refuse_entity
    parser.Parse(text.strip("\ufeff \t\r\n\0").encode("utf-8", "replace"), True)
    return tree.root


class _Tree:
    """Builds the objects. `_open`: the elements from the root to the current one, each with its texts."""

    def __init__(self, to_lower: bool) -> None:
        self.root: Doc = {}
        self._open: list[tuple[str, Doc, list[str]]] = []
        self._to_lower = to_lower
        self._nodes = 0

    def start(self, name: str, attributes: list[str]) -> None:
        self._nodes += 1 + len(attributes) // 2
        if self._nodes > MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES} elements and attributes")
        if len(self._open) >= DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST} levels")
        members: Doc = {}
        for index in range(0, len(attributes), 2):
            _add(members, self._name(attributes[index]), attributes[index + 1])
        self._open.append((self._name(name), members, []))

    def text(self, text: str) -> None:
        if stripped := text.strip():
            self._open[-1][2].append(stripped)

    def end(self, _: str) -> None:
        name, members, texts = self._open.pop()
        text = " ".join(texts)
        value: Any = text
        if members:
            value = members
            if text:
                _add(members, "#text", text)
        _add(self._open[-1][1] if self._open else self.root, name, value)

    def _name(self, name: str) -> str:
        local = name.rpartition(":")[2]
        return local.lower() if self._to_lower else local


def _add(members: Doc, name: str, value: Any) -> None:
    if name not in members:
        members[name] = value
    elif isinstance(members[name], list):  # no value is a list of its own
        members[name].append(value)
    else:
        members[name] = [members[name], value]


def _refuse_declarations(_name: str, _system: str | None, _public: str | None, has_internal_subset: int) -> None:
    if has_internal_subset:
        raise ValueError("it declares its own entities or attributes, which is not supported")


def _refuse_entity(name: str, _is_parameter: int) -> None:
    raise ValueError(f"unknown entity &{name};")
