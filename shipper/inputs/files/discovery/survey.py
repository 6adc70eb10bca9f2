"""Survey the files of all inputs: decide when to scan, and which files to inspect besides.

A scan lists changes (scanner.py). This also inspects what no event shows: files without a watch at every scan, and
everything every few minutes, because events get lost.
"""

import logging
import os
from collections.abc import Iterable, Mapping
from weakref import WeakValueDictionary

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.base import SourceContext, with_progress
from log_shipper.shipper.inputs.files.discovery.dependents import Dependents
from log_shipper.shipper.inputs.files.discovery.directory_tree import NO_HINTS, Directories
from log_shipper.shipper.inputs.files.discovery.problems import FileProblems
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile, Scanner, ScanResult
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec
from log_shipper.shipper.inputs.files.discovery.symlinks import MissedFiles, Place
from log_shipper.shipper.inputs.files.discovery.watch import Watcher

logger = logging.getLogger(__name__)

# A directory with constant changes must not keep the loop busy with scans: after a scan, the next one that an event
# requests is delayed by ten times its duration, and at least by this.
MIN_PAUSE = 0.02  # seconds
DELETIONS_PAUSE = 1.0  # the same, after deletions only: containers end one after the other
FULL_SCAN_EVERY = 300.0
NEVER = float("inf")
MISSED = (
    "files were replaced before they were read: %s: %d appeared and disappeared there, or at the target of a link, "
    "between two scans. Their lines are lost. Rotate less often, or add the names of rotated files to the paths"
)

NOTHING = ScanResult()


class Survey:
    """Used by the reading thread only."""

    def __init__(
        self, inputs: Iterable[InputSpec], watcher: Watcher, problems: FileProblems, context: SourceContext
    ) -> None:
        self.candidates: dict[FileKey, Candidate] = {}  # the files that the inputs' paths match
        self.present: dict[tuple[str, str], FileKey] = {}  # those under the paths now, by input and path
        self._is_requested = False
        self.watcher = watcher
        self.problems = problems
        self._clock, self._metrics = context.clock, context.metrics
        self._once, self._progressed = context.once, context.pulse.beat
        self._due: dict[InputSpec, float] = {}  # in the order of the configuration
        self._first_due = NEVER
        self._next_rounds: dict[float, float] = {}  # by check_interval: when its inputs are scanned together
        self._directories: WeakValueDictionary[object, Directories] = WeakValueDictionary()  # by filters
        self._scanners: dict[InputSpec, Scanner] = {}
        self._listings: dict[InputSpec, ScanResult] = {}
        self._found: dict[InputSpec, dict[FileKey, Candidate]] = {}  # the content of the listings
        self._dependents = Dependents()
        self._unmatched_since: dict[InputSpec, dict[str, float]] = {}  # of patterns without a match
        self._is_changed = False
        self.resends_touched = False  # an input has `resend_on_touch`
        self._discontinued: set[str] = set()  # paths at which the last scan found no immediate successor
        self._listed: dict[FileKey, Candidate] = {}
        self._seen_since: dict[FileKey, Candidate] = {}  # what `look_again` found for listed files
        self._began = self._worked_before = self._paused_until = 0.0
        self._deletions_at = 0.0  # when deleted names may be inspected
        self._full_scan_at = 0.0
        self.was_full_scan = False
        self.replace(inputs)

    def replace(self, inputs: Iterable[InputSpec]) -> None:
        """Scan these inputs from now on. Unchanged ones keep their state; `candidates` changes with the next scan."""
        before, self._due = self._due, {spec: self._due.get(spec, 0.0) for spec in inputs}
        for spec in [spec for spec in before if spec not in self._due]:
            self._note(spec, NOTHING)
            del self._scanners[spec], self._listings[spec], self._found[spec]
            self._unmatched_since.pop(spec, None)
        for spec in [spec for spec in self._due if spec not in before]:
            directories = self._directories.setdefault(spec.filters, Directories(progressed=self._progressed))
            self._scanners[spec] = spec.scanner(directories)
            self._listings[spec], self._found[spec] = NOTHING, {}
        self._first_due = min(self._due.values(), default=NEVER)
        self.resends_touched = any(spec.config.prospector.scanner.resend_on_touch for spec in self._due)
        self._is_changed = True

    def file(self, key: FileKey) -> Candidate | None:
        return self.candidates.get(key)

    @property
    def done(self) -> bool:
        """Return True if, with `once`, every input was scanned: there will be no other scan."""
        return self._once and self.next_step == NEVER

    @property
    def next_step(self) -> float:
        """Monotonic time of the next due scan."""
        return min(self._first_due, self._next_requested) if self.wants_scan else self._first_due

    @property
    def _next_requested(self) -> float:
        is_urgent = self._is_requested or self.watcher.is_urgent
        return self._paused_until if is_urgent else max(self._paused_until, self._deletions_at)

    @property
    def wants_scan(self) -> bool:
        """Return True if a change since the last scan is known."""
        return self._is_requested or self.watcher.wants_scan or self.watcher.lost_events

    def request_scan(self, changed: Iterable[FileKey] = ()) -> None:
        """Scan all inputs as soon as the delay after the last scan is over, and inspect these files now."""
        self._is_requested = True
        self.look_again(changed)

    def step(self) -> bool:
        """Scan the due inputs. Return True if there were any. Raises nothing about files."""
        now = self._clock.monotonic()
        requested = self.wants_scan and now >= self._next_requested
        if not requested and now < self._first_due:
            return False
        self.was_full_scan = full = self.watcher.lost_events or now >= self._full_scan_at
        of_all, hints = full, NO_HINTS
        if requested:
            is_asked, hints = self._is_requested, self._scan_begins(full=full)
            of_all = full or is_asked or not hints
        if full:
            self._full_scan_at = now + FULL_SCAN_EVERY
        timed = self._take_timed(now, of_all=of_all)
        due = dict.fromkeys(timed) | ({} if of_all else self._dependents.inputs_for(hints))
        if not due:
            return False
        self._scan(due, hints, full=full, is_partial=not timed)
        kind, files = "full scan" if full else "scan", sum(len(listing.files) for listing in self._listings.values())
        logger.debug("%s of %d inputs: %d files, %.3f s", kind, len(due), files, self._clock.monotonic() - now)
        return True

    def pause(self) -> None:
        """Note that the scan was evaluated, which starts the delay before the next requested one."""
        now = self._clock.monotonic()
        # CPU time, because on a busy host a scan takes long and short-lived files must not wait for that.
        worked = self._clock.thread_time() - self._worked_before
        self._paused_until = now + max(MIN_PAUSE, 10 * worked, now - self._began)

    def scan_now(self, *, full: bool = False) -> None:
        """Scan all inputs now, for a decision that cannot wait for the delay between two scans."""
        self.was_full_scan = full
        self._scan(list(self._due), self._scan_begins(full=full), full=full)

    def scan_due(self) -> None:
        """Scan only the inputs whose time has come, such as new ones."""
        self.was_full_scan = False
        self._scan(self._take_timed(self._clock.monotonic()), NO_HINTS, full=False)

    def _take_timed(self, now: float, *, of_all: bool = False) -> list[InputSpec]:
        """Return the inputs whose time has come, or all of them, and set their next time."""
        timed = [spec for spec, deadline in self._due.items() if of_all or deadline <= now]
        self._next_rounds = {
            interval: when for interval, when in self._next_rounds.items() if when > now and not of_all
        }
        for spec in timed:
            interval = spec.check_interval
            self._due[spec] = NEVER if self._once else self._next_rounds.setdefault(interval, now + interval)
        self._first_due = min(self._due.values(), default=NEVER)
        return timed

    def _scan_begins(self, *, full: bool) -> Mapping[Place, int]:
        self._is_requested = False
        now = self._clock.monotonic()
        takes_deletions = full or now >= self._deletions_at
        if takes_deletions:
            self._deletions_at = now + DELETIONS_PAUSE
        return self.watcher.scan_begins(full=full, deletions=takes_deletions)

    def _scan(
        self, due: Iterable[InputSpec], hints: Mapping[Place, int], *, full: bool, is_partial: bool = False
    ) -> None:
        self._began, self._worked_before = self._clock.monotonic(), self._clock.thread_time()
        changed, self._is_changed = self._is_changed, False
        for directories in self._directories.values():
            directories.begin_round(hints, is_partial=is_partial)
        for spec in due:
            listing = self._scanners[spec].scan(full=full)
            if listing is not self._listings[spec]:
                changed = True
                self._note(spec, listing)
            self.problems.report_scan(spec.id, listing.problems, self._unmatched(spec, listing))
        if not self._once:
            self._watch_directories(is_changed=changed)
        before = self._listed
        if changed:
            self._merge()
        self._report_missed(before)

    def _note(self, spec: InputSpec, listing: ScanResult) -> None:
        self._dependents.replace(spec, self._listings[spec], listing)
        self._listings[spec] = listing
        candidates = [Candidate.from_scan(spec, file) for file in listing.files.values()]
        self._found[spec] = {candidate.key: candidate for candidate in candidates}

    def _unmatched(self, spec: InputSpec, listing: ScanResult) -> dict[str, str]:
        """Return the patterns without a match, with the reason. A pattern that had a match is left out for the time
        between two scans: a rotation renames the file some time before it creates the next one."""
        if spec.comes_and_goes:
            return {}
        now, known = self._began, self._unmatched_since.get(spec)
        since = dict.fromkeys(listing.unmatched, now if known is not None else -NEVER) | {
            path: then for path, then in (known or {}).items() if path in listing.unmatched
        }
        self._unmatched_since[spec] = since
        return {path: why for path, why in listing.unmatched.items() if now - since[path] >= spec.check_interval}

    def _merge(self) -> None:
        listed: dict[FileKey, Candidate] = {}
        for spec in self._due:
            listed |= self._found[spec]
        # For files that the scan did not inspect again, `look_again` may have newer values.
        before = self._listed
        self._seen_since = {key: seen for key, seen in self._seen_since.items() if listed.get(key) == before[key]}
        self._listed = listed
        self.candidates = listed | self._seen_since
        self.present = {(key[0], candidate.file.path): key for key, candidate in listed.items()}
        self.problems.keep({path for _, path in self.present})

    def _watch_directories(self, *, is_changed: bool) -> None:
        names = self._dependents.names
        if is_changed:
            self.watcher.keep_directories(names)
        moved = {path for directories in self._directories.values() for path in directories.symlinks.moved}
        for directory in with_progress({*self.watcher.unwatched(names), *moved}, self._progressed):
            if directory in names:
                self.watcher.watch_directory(directory, set(names[directory]))

    def _report_missed(self, before: Mapping[FileKey, Candidate]) -> None:
        """Report missed files, except those that the paths match under another name in the same directory."""
        all_missed: dict[str, MissedFiles] = {}
        self._discontinued = set()
        for directories in self._directories.values():
            all_missed |= directories.symlinks.missed
            self._discontinued |= directories.symlinks.led_elsewhere
        for path, missed in all_missed.items():
            directory = os.path.dirname(missed.end)
            rotated = [
                key
                for key, (_, scanned, _) in self._listed.items()
                if key not in before
                and os.path.dirname(scanned.path) == directory
                and scanned.path not in (path, missed.end)
            ]
            if (count := missed.count - len(rotated)) > 0:
                self._discontinued.add(path)
                self._metrics.files_missed += count
                logger.warning(MISSED, path, count, extra=EACH)

    def may_continue(self, path: str) -> bool:
        """Return False if the last scan saw that files were missed at the path, or that it leads to another place: then
        the file there may not be the successor of the previous one."""
        return self._discontinued.isdisjoint((path, os.path.dirname(path)))

    def look_again(self, keys: Iterable[FileKey]) -> None:
        """Update size and time of change of these files; request a scan if one has left its path."""
        for key in with_progress(keys, self._progressed):
            if key not in self.candidates:
                continue
            spec, scanned, _ = self.candidates[key]
            try:
                status = os.stat(scanned.path)
            except OSError:
                self.request_scan()
                continue
            if (status.st_dev, status.st_ino) == scanned.inode:
                seen = Candidate.from_scan(spec, ScannedFile.from_status(scanned.path, status))
                self.candidates[key] = self._seen_since[key] = seen
            else:
                self.request_scan()
