"""One processor of metadata, and events of one file."""

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.chain import Chain
from tests.builders import AGENT, encoder, messages, nothing, source
from tests.fakes import ManualClock


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Within, what is in a cycle of references is not freed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class MetadataLab:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.context = ProcessorContext(AGENT, Path(), self.metrics, self.clock, Caches(self.clock))
        self.source = source()

    def open_file(self, path: str | Path, static: Doc | None = None) -> None:
        """Set the file of the events from now on."""
        self.source = source(path=str(path), static=static)

    def records(self, made: Processor, docs: Sequence[Doc] = ({}, {})) -> list[dict[str, Any]]:
        """Return the records of events with these members. `self.batch` is the batch."""
        self.batch = Batch(self.source, messages(["x"] * len(docs)), 0.0, nothing)
        if any(docs):
            self.batch.messages.docs = [dict(doc) for doc in docs]
        Chain([made], self.metrics)(self.batch)
        return [json.loads(record) for record in encoder().encode(self.batch)]

    @property
    def costs_nothing(self) -> bool:
        """True if no event has a document of its own, so that what was added is shared."""
        return self.batch.messages.docs is None
