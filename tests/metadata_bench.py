"""One processor of metadata and events of one file for it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shipper.event import Batch, Doc
from shipper.metrics import Metrics
from shipper.processor.base import Processor, ProcessorContext
from shipper.processor.chain import Chain
from tests.builders import AGENT, encoder, messages, nothing, source
from tests.fakes import ManualClock


class MetadataBench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.context = ProcessorContext(AGENT, Path(), self.metrics, self.clock)
        self.source = source()

    def at(self, path: str | Path, static: Doc | None = None) -> None:
        """From now on the events are of this file."""
        self.source = source(path=str(path), static=static)

    def records(self, made: Processor, docs: Sequence[Doc] = ({}, {})) -> list[dict[str, Any]]:
        """What is sent of events with these members of their own. `self.batch` is the batch."""
        self.batch = Batch(self.source, messages(["x"] * len(docs)), 0.0, nothing)
        if any(docs):
            self.batch.messages.docs = [dict(doc) for doc in docs]
        Chain([made], self.metrics)(self.batch)
        return [json.loads(record) for record in encoder().encode(self.batch)]

    @property
    def costs_nothing(self) -> bool:
        """What was added is shared: no event has a document of its own."""
        return self.batch.messages.docs is None
