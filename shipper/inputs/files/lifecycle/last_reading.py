"""Read files to their end while the agent stops, for inputs with `read_until_eof`: a sidecar's files end with its pod.

The paths are scanned once more. Each file then has an end: its size at this moment, or at its opening if it is opened
later, so a program that keeps writing does not delay the stop. An unfinished message or line at the end of a file gets
some time, and is then ended where the file was read to: the saved cut makes a second reading end it there, too.

Of other inputs only deleted files are read, because they are lost after the stop. They get half of the time; the other
half is for the acknowledgements.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, InputSpec
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.reading.batch_reader import BatchReader
from log_shipper.shipper.inputs.files.reading.harvester import Harvester

logger = logging.getLogger(__name__)

NEVER = float("inf")
PATIENCE = 1.0  # seconds without new data after which unfinished messages are shipped
SHARE_OF_LIMIT = 1 / 4  # maximum share of the available time for that
SHARE_OF_REMOVED = 1 / 2  # of the time, for deleted files


class LastReading:
    """The last reading of files. Used by the reading thread only. `inputs`: ids of the inputs to read; None before it
    has begun."""

    def __init__(self, open_files: OpenFiles, reading: BatchReader, clock: Clock) -> None:
        self._open_files = open_files
        self._reading = reading
        self._clock = clock
        self._ends: dict[Harvester, int] = {}
        self._cut: dict[Harvester, int] = {}  # where it was cut last
        self._patience = PATIENCE
        self._give_up = NEVER
        self.inputs: set[str] | None = None

    def begins(self, inputs: Iterable[InputSpec], longest: float) -> bool:
        """Begin, at the first call: continue reading the open files of those inputs that have the option, for at most
        `longest` seconds. Return True if the others are to be searched now."""
        if self.inputs is not None:
            return False
        wanted = [spec.config for spec in inputs if spec.config.read_until_eof.enabled]
        read_inputs = self.inputs = {config.id for config in wanted}
        for harvester in self._open_files.running.values():
            self._open_files.look_for_removal(harvester)  # a scan may not find it any more
        removed = {harvester.state.id for harvester in self._open_files.removed}
        limits = [config.read_until_eof.timeout for config in wanted] or [longest * SHARE_OF_REMOVED]
        longest = min([longest, *limits])
        self._patience = min(PATIENCE, longest * SHARE_OF_LIMIT)
        self._give_up = self._clock.monotonic() + longest
        self._reading.read_only(lambda source: source.input_id in read_inputs or source.file_id in removed)
        for harvester in self._harvesters:
            self._reading.wake(harvester)
        return bool(wanted)

    def may_open(self, candidate: Candidate) -> bool:
        """Return True if the file may be opened."""
        return self.inputs is None or candidate.spec.id in self.inputs

    def step(self, *, may_open_more: bool) -> bool:
        """End what was unfinished for too long. Return True if everything is read, or the time is over.
        `may_open_more`: files may still be opened, for reasons unknown here."""
        if self._clock.monotonic() >= self._give_up:
            return True
        unread = [harvester for harvester in self._harvesters if not self._is_read(harvester)]
        for harvester in unread:
            self._end_unfinished(harvester)
        # A closed file with batches in flight may have new data, and is opened again once they are settled.
        return not unread and not (self.inputs and (may_open_more or self._open_files.files.draining))

    def report(self) -> None:
        """Log which data was not read."""
        left = {
            harvester.state.path: self._end_of(harvester) - harvester.read_to
            for harvester in self._harvesters
            if self._is_of_inputs(harvester) and not self._is_read(harvester)
        }
        if left:
            logger.warning(
                "stopped before the end of %d file%s, %d bytes were not read (read_until_eof): %s; raise "
                "read_until_eof.timeout and shutdown_timeout",
                len(left),
                "" if len(left) == 1 else "s",
                sum(max(size, 0) for size in left.values()),
                ", ".join(sorted(left)[:3]),
            )

    @property
    def _harvesters(self) -> list[Harvester]:
        running = self._open_files.running.values()
        return [harvester for harvester in running if self._is_of_inputs(harvester) or harvester.is_removed]

    def _is_of_inputs(self, harvester: Harvester) -> bool:
        return harvester.source.input_id in (self.inputs or ())

    def _is_read(self, harvester: Harvester) -> bool:
        if not self._reading.may_release(harvester) or not harvester.is_proven:
            return False
        if harvester.content.compressed:
            return harvester.at_end and harvester.message_deadline is None
        if not self._is_of_inputs(harvester):
            return self._is_at_end(harvester) and harvester.message_deadline is None
        return self._is_at_end(harvester) and harvester.offset >= harvester.read_to

    def _is_at_end(self, harvester: Harvester) -> bool:
        return harvester.read_to + harvester.padding >= self._end_of(harvester)

    def _end_of(self, harvester: Harvester) -> int:
        """Return the size up to which the file is read."""
        if harvester not in self._ends:
            status = harvester.status_if_known()
            self._ends[harvester] = harvester.read_to if status is None else status.st_size
        return self._ends[harvester]

    def _end_unfinished(self, harvester: Harvester) -> None:
        if harvester.content.compressed or not harvester.is_proven or not self._is_at_end(harvester):
            return
        if not self._is_of_inputs(harvester):
            return
        if self._clock.monotonic() - harvester.schedule.read_at < self._patience:
            return
        if harvester.is_continued:  # in its successor, whose first lines belong to the message
            harvester.policy = replace(harvester.policy, multiline_timeout=0.0)
        elif self._cut.get(harvester) != harvester.read_to:
            self._cut[harvester] = harvester.read_to
            harvester.cut_short(flagged=False)
        self._reading.wake(harvester)
