"""Builders for tests of processors: from YAML to a chain, from an event's members to its record."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from log_shipper.config.yaml.load import load
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS, AnyProcessor
from log_shipper.shipper.processor import chain
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.reader.base import ParserConfig
from tests.builders import AGENT, encoder, messages, nothing, source
from tests.fakes import ManualClock

T = TypeVar("T")
NOISE = ("@timestamp", "log", "input", "host", "agent", "ecs")


@dataclass(frozen=True, slots=True)
class Section:
    """A configuration with processors only."""

    processors: tuple[AnyProcessor, ...] = field(default=(), metadata={"read_as": PROCESSORS})
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})


@dataclass(frozen=True, slots=True)
class ParserSection:
    """A configuration with parsers only."""

    parsers: tuple[ParserConfig, ...] = field(default=(), metadata={"read_as": PARSERS})


def section(text: str) -> Section:
    """`text`: the list below `processors:`. Raises ConfigError."""
    return _loaded("processors", text, Section)


def parser_section(text: str) -> ParserSection:
    """`text`: the list below `parsers:`. Raises ConfigError."""
    return _loaded("parsers", text, ParserSection)


def _loaded(name: str, text: str, model: type[T]) -> T:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "shipper.yml"
        lines = "\n".join(f"  {line}" for line in text.strip("\n").splitlines())
        file.write_text(f"{name}:\n{lines}\n")
        return load(file, model, (), {})


def chain_of(
    text: str, metrics: Metrics | None = None, clock: Clock | None = None, caches: Caches | None = None
) -> Any:
    clock = clock or ManualClock()
    context = ProcessorContext(AGENT, Path(), metrics or Metrics(), clock, caches or Caches(clock))
    return chain.build(section(text).processors, context)


def batch_of(docs: Sequence[Doc], static: Doc | None = None, time: float = 0.0) -> Batch:
    """Return a batch with one event for each document, whose `message` is the text."""
    texts = [doc["message"] if isinstance(doc.get("message"), str) else "" for doc in docs]
    own = [copied(doc) for doc in docs]
    for text, doc in zip(texts, own, strict=True):
        if text:
            del doc["message"]
    run = messages(texts)
    run.docs = own if any(own) else None
    return Batch(source(static=static), run, time, nothing)


def records(batch: Batch) -> list[Doc]:
    return [json.loads(record) for record in encoder().encode(batch)]


def without_noise(record: Doc) -> Doc:
    return {name: value for name, value in record.items() if name not in NOISE}


def processed(text: str, *docs: Doc, static: Doc | None = None) -> list[Doc]:
    """Return the records of events with these members after the processors, without what every record has."""
    batch = batch_of(docs, static)
    chain_of(text)(batch)
    return [without_noise(record) for record in records(batch)]
