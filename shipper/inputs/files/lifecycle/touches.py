"""Implement `resend_on_touch`: a touched file is read from its start under a new id.

Each survey checks the open files of the inputs with the option. A closed file is opened because its time of change
moved, and its entry ends then (touched.py).
"""

from dataclasses import replace

from log_shipper.shipper.inputs.base import SourceContext, with_progress
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.discovery.survey import Survey
from log_shipper.shipper.inputs.files.identity.touched import is_settled, log_touch
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.lifecycle.transitions import FileEvent, next_state
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.sighting import Sighting


class TouchedFiles:
    """The touched open files. Used by the reading thread only."""

    def __init__(self, open_files: OpenFiles, survey: Survey, context: SourceContext) -> None:
        self._open_files = open_files
        self._survey = survey
        self._files = open_files.files
        self._metrics = context.metrics
        self._clock = context.clock
        self._progressed = context.pulse.beat

    @property
    def closed(self) -> list[FileKey]:
        """The closed files that a survey must check: write events do not show a touch."""
        return [key for key in self._files.closed if self._is_wanted(key)] if self._survey.resends_touched else []

    def _is_wanted(self, key: FileKey) -> bool:
        candidate = self._survey.file(key)
        return candidate is not None and candidate.spec.config.prospector.scanner.resend_on_touch

    def step(self) -> None:
        """End the open files that were touched, after a survey."""
        if not self._survey.resends_touched:
            return
        running = with_progress(self._open_files.running.values(), self._progressed)
        for harvester in [harvester for harvester in running if self._is_touched(harvester)]:
            log_touch(harvester.state)
            self._metrics.files_resent += 1
            self._files[harvester.key].is_fresh = True  # else it may wait as a suspected copy
            harvester.state = replace(harvester.state, key="")  # else its fingerprint would name the ended entry
            self._open_files.leave(harvester, next_state(FileEvent.TOUCHED))

    def _is_touched(self, harvester: Harvester) -> bool:
        """Return True if the file was touched and everything read of it is acknowledged. One that no scan finds is
        read on: it could not be sent again."""
        if harvester.sighting is None or harvester.is_outside:
            return False
        try:
            return self._shows_touch(harvester, harvester.sighting)
        except OSError:
            return False  # reported when the file is read

    def _shows_touch(self, harvester: Harvester, sighting: Sighting) -> bool:
        """Return True if the file's status shows a touch. Raises OSError."""
        status = harvester.status()
        if not sighting.shows_touch(status) or harvester.padding:
            harvester.sighting = Sighting(status)
            return False
        if not harvester.content.compressed and (status.st_size != harvester.read_to or not harvester.is_as_read):
            self._open_files.wake(harvester)
            return False
        return harvester.over and is_settled(status.st_mtime_ns, self._clock.time())
