"""Reads one open file and turns what it reads into batches that its ledger tracks."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from log_shipper.registry.state import FileState, with_changes
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.event import Batch, Messages
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.identity.content import Content, close_descriptor, size_at_least
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE
from log_shipper.shipper.inputs.files.reading.continued_file import Continuation, Links
from log_shipper.shipper.inputs.files.reading.file_on_disk import FileOnDisk
from log_shipper.shipper.inputs.files.reading.file_reader import FileReader, ReadSetup
from log_shipper.shipper.inputs.files.reading.schedule import Schedule
from log_shipper.shipper.inputs.files.reading.sighting import Sighting
from log_shipper.shipper.pipeline.acks import Ledger
from log_shipper.shipper.reader.gzip_file import CompressionError


class Harvester(FileOnDisk):
    """One open file. Used by the reading thread only. `offset` is where reading resumes, `state.position` what is
    acknowledged, `size` the size seen last.

    Its states are independent of each other:

    unproven      the file may have changed since its entry was made: all before the position is read first and its hash
                  compared with the entry's. Until then nothing of it is sent, and its entry stays
    at_end        the last read reached the end of the file, for now
    is_continued  its pending message is being continued in the file that followed it (continued_file.py)
    settled       none of its batches is in flight
    over          at its end, with nothing pending and nothing in flight: it may be closed
    is_complete   a file that cannot grow any more, and was read to its end
    is_leaving    it is to be closed as soon as an option allows it
    is_open       until it is closed; batches in flight move its position even after that

    `copied`: the bytes that a copy of it has, after its truncation.
    """

    __slots__ = (
        "_clock",
        "_file_reader",
        "_must_save",
        "_note",
        "_split",
        "at_end",
        "copied",
        "is_leaving",
        "is_open",
        "key",
        "ledger",
        "links",
        "opened_at",
        "policy",
        "schedule",
        "sighting",
        "size",
        "source",
        "state",
    )

    def __init__(
        self,
        content: Content,
        state: FileState,
        setup: ReadSetup,
        *,
        was: FileState | None = None,
        on_settled: "Callable[[Harvester], None] | None" = None,
    ) -> None:
        """Open the file. `on_settled` is called each time the last batch in flight is settled. Raises OSError."""
        super().__init__(content)
        self.key: FileKey = (setup.source.input_id, state.device, state.inode)
        self.state = state
        self.source = setup.source
        self.policy = setup.policy
        self.size = state.size_seen
        self.schedule = Schedule(setup.clock)
        self.opened_at = setup.clock.monotonic()
        self.sighting = Sighting(self.status()) if setup.policy.resend_on_touch else None
        self.is_open = True
        self.is_leaving = False
        self.at_end = False
        self.copied = 0
        self.links: Links[Harvester] = Links()
        self._split: Continuation | None = None  # of the last message, until that is acknowledged
        stage = None if setup.stage is None else setup.stage(self.state_at)
        settled = None if on_settled is None else partial(on_settled, self)
        self.ledger = Ledger(state.position, self._advanced, stage, settled)
        self._clock = setup.clock
        self._note = setup.note
        self._file_reader = FileReader(content, state, setup, was)
        # What is read must not be sent before `state` is saved: here because of the cut at the end of the file.
        self._must_save = setup.policy.once and not self.is_proven

    @property
    def unproven(self) -> FileState | None:
        """The entry before the match, until it is proven."""
        return self._file_reader.unproven

    @property
    def is_proven(self) -> bool:
        return self._file_reader.unproven is None

    def unproven_as_seen(self) -> FileState | None:
        """Return the unproven entry. If the file was rewritten since it was matched with it, with the size seen until
        then: this much is lost."""
        unproven = self.unproven
        with suppress(OSError):
            if unproven is not None and not self.content.matches(unproven):
                return with_changes(unproven, size_seen=max(unproven.size_seen, self.size))
        return unproven

    @property
    def offset(self) -> int:
        """The offset up to which bytes belong to batches; raw bytes of a pending message follow it."""
        return self.ledger.tracked

    @property
    def read_to(self) -> int:
        """The offset up to which the file was read, including a pending message."""
        return self._file_reader.own.offset

    def bytes_behind(self, position: int, size: int) -> int:
        """Return how many bytes follow the position in a file of this size on disk: compressed ones in a compressed
        file, whose positions are those of its content."""
        return max(size - self._file_reader.on_disk(position), 0)

    @property
    def pending_bytes(self) -> int:
        """The approximate memory of the unfinished line and the pending message in bytes, also after the next read."""
        if not self.is_proven or self._file_reader.is_cut_short:
            return 0
        text_at = max(self.offset, self._file_reader.leading_nuls)
        return min(max(self._file_reader.file.offset - text_at, 0), self.policy.max_kept_bytes)

    @property
    def padding(self) -> int:
        """The number of NULs at the end of the file that are padding; 0 until its end was reached."""
        return self._file_reader.padding

    @property
    def is_as_read(self) -> bool:
        """Return True if the file still has the bytes read last, in this run or the one before. Raises OSError."""
        return self._file_reader.is_as_read and (self.unproven is None or self.content.matches(self.unproven))

    @property
    def is_busy(self) -> bool:
        """Return True if the last read returned early and is to be repeated soon."""
        return self._file_reader.file.busy

    @property
    def is_continued(self) -> bool:
        return self._file_reader.continuation is not None

    def has_changed(self, status: os.stat_result) -> bool:
        """Return True if the file may have other bytes than those read. Raises OSError."""
        return self._file_reader.has_changed(status)

    @property
    def settled(self) -> bool:
        return self.ledger.open_batches == 0

    @property
    def over(self) -> bool:
        return self.at_end and self.settled and self.message_deadline is None

    @property
    def finished(self) -> bool:
        is_read = self.is_complete if self.content.compressed else self.offset >= self.size
        return self.policy.once and self.is_proven and is_read

    @property
    def is_complete(self) -> bool:
        return self.at_end and self._file_reader.file.complete and self.message_deadline is None

    @property
    def message_deadline(self) -> float | None:
        """Monotonic time at which `end_message` must end the pending message."""
        since, timeout = self._file_reader.reader.pending_since, self.policy.multiline_timeout
        return None if since is None or timeout is None else since + timeout

    @property
    def is_overdue(self) -> bool:
        """Return True if a message is pending and its deadline has passed."""
        return (deadline := self.message_deadline) is not None and deadline <= self._clock.monotonic()

    def read(self) -> Batch | None:
        """Return the next batch (possibly without events). None if there is none for now or, with `at_end`, because the
        end of the file was reached. Raises Truncated, Disproved, CompressionError, OSError."""
        if self.finished:
            return None
        was_proven = self.is_proven
        if not self._file_reader.confirm():
            self.at_end = False
            return None
        if not was_proven:
            self._note(self.state)
        try:
            messages = self._file_reader.reader.next()
        except (Truncated, CompressionError):
            if not self.is_continued:
                raise
            return self.end_message()  # the successor is truncated or damaged, which its own harvester reports
        self.at_end = not self.is_busy if messages is None else self._file_reader.file.at_end()
        if self.at_end and self.policy.once:
            self._file_reader.file.require_complete()
        if messages is None:
            return None
        self.schedule.data_came()
        if self._file_reader.took_cut(messages):
            self._save_cut(messages.end)
        return self._batch(messages)

    def end_message(self) -> Batch | None:
        """End the pending message by time. The cut must be saved (it is in `state`) before the batch is queued, unless
        the file was truncated: then it cannot be read again."""
        messages = self._file_reader.reader.finish()
        if messages is None:
            return None
        self._save_cut(messages.end)
        continuation = self._file_reader.continuation
        if continuation is not None:
            continuation.cut = messages.end
        batch = self._batch(messages)
        if self.is_continued:  # a line without end lies before it, and stays
            self._file_reader.resume_alone(self.offset)
        return batch

    def cut_short(self, *, flagged: bool = True) -> None:
        """Make the next read end the pending message within its line; the rest is another message."""
        self._file_reader.cut_short(flagged=flagged)

    def _save_cut(self, end: int) -> None:
        """Keep the end of a message: a second reading must end it there too, or an offset would have two texts."""
        self._must_save = True
        self.state = with_changes(self.state, cuts=(*self.state.cuts, end))

    def take_unsaved_state(self) -> FileState | None:
        """Return, once, the state that must be on disk before the last batch is queued; None if a second reading would
        give the same batch, or is impossible."""
        must_save, self._must_save = self._must_save and self.policy.repeatable, False
        return self.state if must_save else None

    def update(self, **changes: object) -> None:
        """Change the file's entry, and pass it to the registry once the file is proven."""
        self.state = with_changes(self.state, updated=self._clock.time(), **changes)
        self._file_reader.follow(self.state)
        if self.is_proven:
            self._note(self.state)

    def note_last_look(self, status: os.stat_result) -> None:
        """Keep the file's times in its state: as long as they do not change, it was not written to. Raises OSError."""
        if not self.is_proven:
            return
        if self.content.compressed:  # a later start does not open a file of this size again
            seen = {"compressed": status.st_size} if self.is_complete and self.settled else {}
        else:  # if it is deleted before it is read further, this much is lost
            known = max(self.state.size_seen, self.size, self.read_to)
            size = size_at_least(self.content, known)
            seen = {"size_seen": size if size > known and self.is_as_read else known}
        self.update(**seen, changed=self._file_reader.changed(status), modified=self._modified(status))

    def end(self, ended: Callable[[FileState], FileState], status: os.stat_result | None) -> None:
        """Note that the file has ended; `ended` makes the final state of its entry. `status`: None if it is unknown."""
        if self.is_proven:
            # Other unread data is counted already; if the agent is killed, unacknowledged data is lost.
            self.size = max(self.offset, self.copied)
            modified = self.state.modified if status is None else status.st_mtime_ns
            self.state = ended(with_changes(self.state, size_seen=self.size, modified=modified))

    def close(self) -> None:
        self.is_open = False
        self._file_reader.close()
        close_descriptor(self.fd)

    def continue_in(self, successor: "Harvester") -> bool:
        """Continue the pending message in the successor. Return False if the file's last line was not read. Raises
        OSError."""
        lacks_lines = self.content.compressed and self.read_to < self.size  # those that its original was seen with
        self.at_end = lacks_lines or not self._file_reader.continue_in(successor)
        return not self.at_end

    def skip(self, length: int, data: bytes) -> Callable[[], None]:
        """Skip the first `length` bytes, which were `data`: they belong to the last message of the predecessor. Return
        the function that acknowledges them. Raises OSError."""
        if length <= self.offset or not self.is_proven or not self.is_open:
            return lambda: None  # a second reading: they are acknowledged already, or are read once more
        self._file_reader.skip(self.offset, length, self.state.cuts, data)
        self._file_reader.remember_end(length)
        return self.ledger.track(length, self._clock.monotonic())

    def _batch(self, messages: Messages) -> Batch:
        if self.state.fingerprint[0] < HEAD_SIZE:
            fingerprint = self._file_reader.fingerprint_now(self.state.fingerprint)
            # It was empty so far: an entry without any bytes would match any file at this inode after a crash.
            self._must_save = self._must_save or self.state.fingerprint[0] == 0 < fingerprint[0]
            size = max(self.state.size_seen, min(messages.end, self.read_to))  # it may end in another file
            self.state = with_changes(self.state, fingerprint=fingerprint, size_seen=size)
        continuation = self._file_reader.continuation
        if continuation is not None and messages.end >= continuation.end:
            return self._last_batch(continuation, messages)
        self._file_reader.remember_end(messages.end)
        if not self.policy.once:
            self.size = max(self.size, messages.end)
        resolve = self.ledger.track(messages.end, self._clock.monotonic())
        return Batch(self.source, messages, self._clock.time(), resolve)

    def _last_batch(self, continuation: Continuation, messages: Messages) -> Batch:
        """Return the batch with the message that began in this file and ends in the next one, or exactly here."""
        resolve = continuation.split(messages, self.ledger, self._clock.monotonic())
        self._file_reader.remember_end(continuation.end)
        self._split = continuation
        self._file_reader.resume_alone(continuation.end)
        return Batch(self.source, messages, self._clock.time(), resolve)

    def state_at(self, position: int) -> FileState:
        """Return the state of the file once everything before `position` is acknowledged."""
        state = self.state
        tail, proof = self._file_reader.evidence_up_to(position) or (state.tail_hash, state.proof)
        split = self._split if self._split is not None and position >= self._split.end else None
        status = self.status_if_known() if self.is_open else None
        return with_changes(
            state,
            position=position,
            tail_hash=tail,
            proof=proof,
            size_seen=max(self.size, position),
            modified=state.modified if status is None else self._modified(status),
            updated=self._clock.time(),
            cuts=tuple(cut for cut in state.cuts if cut > position and (split is None or cut != split.cut)),
            continues_in=state.continues_in if split is None else None,
        )

    def _modified(self, status: os.stat_result) -> int:
        """Return the modification time for the entry."""
        return status.st_mtime_ns if self.sighting is None else self.sighting.modified(status)

    def _advanced(self, position: int) -> None:
        self.state = self.state_at(position)
        self._file_reader.forget_evidence(position)
        if self._split is not None and position >= self._split.end:
            self._split = None
        self._note(self.state)

    def __repr__(self) -> str:
        return f"<Harvester {self.state.path} {self.state.id} position={self.state.position} offset={self.offset}>"
