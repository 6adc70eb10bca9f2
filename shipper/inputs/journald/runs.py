"""Parse the entries of one sequence and boot into messages."""

import hashlib
from collections.abc import Collection, Iterator, Sequence

from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats.times import microseconds
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.journald.conversion import Conversion
from log_shipper.shipper.inputs.journald.entries import JournalEntry, Key
from log_shipper.shipper.reader import chain
from log_shipper.shipper.reader.base import Reader


def file_id(input_id: str, key: Key) -> str:
    return hashlib.sha256("\0".join((input_id, *key)).encode()).hexdigest()[:32]


def mark_of(key: Key, number: int) -> int:
    """Return the registry's number for a place in a sequence where a message was ended by time."""
    digest = hashlib.sha256("\0".join((*key, str(number))).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # a signed number of 64 bits


class PushedRuns:
    """The innermost reader, which returns the runs put into it."""

    pending_since = None

    def __init__(self) -> None:
        self.runs: list[Messages] = []

    def next(self) -> Messages | None:
        return self.runs.pop(0) if self.runs else None

    def finish(self) -> Messages | None:
        return None


class Run:
    """The entries of one sequence and boot. `passed`: all entries with lower numbers are in messages that were given,
    or were dropped on purpose."""

    def __init__(self, feed_input: FeedInput, key: Key, path: str) -> None:
        self.key = key
        self.source = feed_input.source(file_id(feed_input.id, key), path)
        self.passed = 0
        config, shared = feed_input.config, self.source.constants.members
        self._pushed = PushedRuns()
        self._reader: Reader | None = None
        if config.parsers:
            self._reader = chain.parse(
                self._pushed, config, feed_input.max_bytes, feed_input.clock, shared, feed_input.metrics
            )
        self._conversion = Conversion(
            shared,
            keep_null=config.keep_null,
            save_remote_hostname=getattr(config, "save_remote_hostname", False),
            is_changed=feed_input.process is not None or bool(config.parsers),
        )

    @property
    def pending_since(self) -> float | None:
        return None if self._reader is None else self._reader.pending_since

    def messages(self, entries: Sequence[JournalEntry], event: Doc, cuts: Collection[int]) -> Iterator[Messages]:
        """Yield the messages that are complete with these entries. `cuts`: the marks of places where a message must
        end."""
        for run in self._columns(entries, event, cuts):
            if self._reader is None:
                self.passed = run.end
                yield run
                continue
            self._pushed.runs.append(run)
            while (messages := self._reader.next()) is not None:
                self.passed = messages.end
                yield messages

    def finish(self) -> Messages | None:
        """End the pending message."""
        messages = None if self._reader is None else self._reader.finish()
        if messages is not None:
            self.passed = messages.end
        return messages

    def _columns(self, entries: Sequence[JournalEntry], event: Doc, cuts: Collection[int]) -> Iterator[Messages]:
        """Yield runs with rising numbers."""
        run: Messages | None = None
        docs: list[Doc] = []
        document = self._conversion.document
        for entry in entries:
            if run is not None and (entry.number < run.end or run.cut):
                yield run
                run = None
            if run is None:
                docs = []
                start = self.passed if self.passed <= entry.number and self._reader is not None else entry.number
                run = Messages(start or entry.number, entry.number, docs=docs)
            if entry.flags:
                run.flags[len(docs)] = entry.flags
            run.texts.append(entry.text)
            run.offsets.append(entry.number)
            run.lengths.append(1)
            doc = document(entry.fields, event)
            doc["@timestamp"] = microseconds(entry.time)
            docs.append(doc)
            run.end = entry.number + 1
            run.cut = bool(cuts) and mark_of(self.key, run.end) in cuts
        if run is not None:
            yield run
