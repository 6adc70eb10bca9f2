"""Scan the paths for files. Scans are authoritative; events only make them earlier.

The cost of a scan depends on what has changed: it checks each directory for changes, and follows the patterns again
only if a directory or the target of a symlink changed. A file is inspected once, when its name is new. A `full` scan
finds what this misses, such as a file mounted over another.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.config.text.globs import FixedName, PathPattern, parse
from log_shipper.shipper.inputs.files.discovery.directory import Directory, DirectoryEntry, Kind, ScannedFile
from log_shipper.shipper.inputs.files.discovery.directory_probe import READ_LINKS, Filters, Probe
from log_shipper.shipper.inputs.files.discovery.directory_tree import Directories, Tree
from log_shipper.shipper.inputs.files.discovery.symlinks import Inode, Place
from log_shipper.shipper.options.model import ScannerConfig

__all__ = ["Inode", "ScanResult", "ScannedFile", "Scanner"]

RETRIES = 2  # of a scan during which directories changed: it may have missed a renamed file


@dataclass(slots=True)
class ScanResult:
    """The result of a scan. `files` by key, so that links to one file count once; `problems`: reasons, by path, why
    files cannot be read; `unmatched`: patterns without a match, with the reason; `places` to watch, in one of which
    anything new appears first; `endings`: endings of names that patterns search, by directory."""

    files: dict[Inode, ScannedFile] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    unmatched: dict[str, str] = field(default_factory=dict)
    places: set[Place] = field(default_factory=set)
    endings: set[Place] = field(default_factory=set)


class Scanner:
    """The scanner of one input's paths. Used by one thread. `progressed` is Heart.beat (base.py)."""

    def __init__(
        self,
        paths: tuple[str, ...],
        options: ScannerConfig,
        monotonic: Callable[[], float] = time.monotonic,
        progressed: Callable[[], None] = lambda: None,
        directories: Directories | None = None,
    ) -> None:
        """Share `directories` with other scanners of the same filters; their owner begins the rounds."""
        self._options = options
        self._filters = Filters(options.exclude_files, options.include_files)
        self._patterns: list[PathPattern] = []
        self._invalid_patterns: dict[str, str] = {}
        for path in dict.fromkeys(paths):
            try:
                self._patterns.append(parse(path, recursive=options.recursive_glob))
            except ValueError as error:
                self._invalid_patterns[path] = str(error)
        self._directories = directories or Directories(monotonic, progressed)
        self._begins_rounds = directories is None
        self._tree = Tree(self._directories)
        self._probes: dict[tuple[str, bool], Probe] = {}
        self._identities: dict[str, Inode | None] = {}
        self._unsettled = True
        self._listing = ScanResult()

    def scan(self, *, full: bool) -> ScanResult:
        """Return the files that the paths match now: the same object as last time if nothing changed. `full`: list
        every directory and inspect every file. The caller must not change the result."""
        if self._begins_rounds:
            self._directories.begin_round()
        listing = self._look(full=full)
        for _ in range(RETRIES):
            if not self._tree.is_torn:
                break
            listing = self._look(full=False, again=True) or listing
        if listing is not None:
            self._take(listing)
        return self._listing

    def _look(self, *, full: bool, again: bool = False) -> ScanResult | None:
        """Return the new listing, or None if nothing changed."""
        changed = self._tree.refresh(full=full, again=again)
        for probe in self._probes.values():
            changed = probe.refresh(full=full) or changed
            self._tree.progressed()
        return self._follow() if full or changed or self._unsettled else None

    def _follow(self) -> ScanResult:
        search = _Search(self._tree, self._probes, self._filters, self._options, self._listing)
        for pattern in self._patterns:
            search.follow(pattern)
        listing = search.listing
        listing.endings = self._tree.finish_walk()
        self._probes = search.probes
        self._unsettled = search.unsettled
        listing.problems |= self._invalid_patterns
        for directory in self._tree.directories.values():
            listing.places.update(directory.places)
            if directory.problem is not None:
                listing.problems[directory.path] = directory.problem
        return listing

    def _take(self, listing: ScanResult) -> None:
        identities = {path: directory.key for path, directory in self._tree.directories.items()}
        # A directory that replaced another must be watched, even with the same files in it.
        if listing != self._listing or identities != self._identities:
            self._listing, self._identities = listing, identities


class _Search:
    """A walk along all patterns. `unsettled`: the next scan must inspect something again."""

    def __init__(
        self,
        tree: Tree,
        probes: dict[tuple[str, bool], Probe],
        filters: Filters,
        options: ScannerConfig,
        last: ScanResult,
    ) -> None:
        self.listing = ScanResult()
        self.probes: dict[tuple[str, bool], Probe] = {}
        self.unsettled = False
        self._tree = tree
        self._known_probes = probes
        self._filters = filters
        self._options = options
        self._last = last
        self._linked: set[str] = set()
        self._matched = self._links = self._excluded = False

    def follow(self, pattern: PathPattern) -> None:
        self._matched = self._links = self._excluded = False
        for path, linked in self._tree.places(pattern):
            if isinstance(pattern.last, FixedName):
                self._probe(os.path.join(path, pattern.last.name), linked, literal=pattern.is_literal)
                continue
            for name, entry in self._tree.matching(path, pattern.last):
                self._take_entry(self._tree.directory_at(path), name, entry, linked)
        if not self._matched:
            self.listing.unmatched[pattern.path] = self._why_nothing(pattern)

    def _take_entry(self, directory: Directory, name: str, entry: DirectoryEntry, linked: bool) -> None:
        if entry.kind is Kind.FILE:
            if not entry.is_checked:
                self._look(directory, directory.prefix + name, entry)
            if entry.file is not None:
                self._add(entry.file, linked)
            elif entry.is_checked:
                self._excluded = True
        elif entry.kind is Kind.LINK:
            if self._options.symlinks:
                self._probe(directory.prefix + name, linked, literal=False)
            else:
                self._links = True

    def _look(self, directory: Directory, path: str, entry: DirectoryEntry) -> None:
        if not self._filters.let_through(path):
            entry.file, entry.is_checked = None, True
            return
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            entry.file = None  # it was removed after the listing
            self.unsettled = True
        except OSError as error:
            # The file is assumed to be unchanged. One problem covers the whole directory, which denies the access.
            self.listing.problems[directory.path] = f"files in this directory cannot be accessed: {error.strerror}"
            self.unsettled = self._matched = True
        else:
            entry.is_checked = stat.S_ISREG(status.st_mode)
            entry.file = ScannedFile.from_status(path, status) if entry.is_checked else None
            self.unsettled = self.unsettled or not entry.is_checked
        self._tree.progressed()

    def _probe(self, path: str, linked: bool, *, literal: bool) -> None:
        known = self.probes.get((path, literal)) or self._known_probes.get((path, literal))
        if known is None:
            known = Probe(path, self._filters, self._tree.symlinks, reads_links=self._options.symlinks, literal=literal)
            known.refresh(full=False)
            self._tree.progressed()
        self.probes[path, literal] = known
        self.listing.places.update(known.places)
        self._excluded = self._excluded or known.excluded
        self._links = self._links or (known.is_link and not self._options.symlinks)
        if known.problem is not None:
            self.listing.problems[path] = known.problem
            self._matched = True
        if known.file is not None:
            self._add(known.file, linked or known.is_link)

    def _add(self, file: ScannedFile, linked: bool) -> None:
        self._matched = True
        if linked:
            self._linked.add(file.path)
        other = self.listing.files.setdefault(file.inode, file)
        if other is not file and self._rank(file) < self._rank(other):
            self.listing.files[file.inode] = file

    def _rank(self, file: ScannedFile) -> tuple[bool, bool, str]:
        """Return the sort key of a file's names: first its previous one, then one without links, then the first."""
        before = self._last.files.get(file.inode)
        return (before is None or before.path != file.path, file.path in self._linked, file.path)

    def _why_nothing(self, pattern: PathPattern) -> str:
        if self._links:
            return f"matches only symbolic links: {READ_LINKS}"
        if self._excluded:
            return "exclude_files and include_files leave out every file that it matches"
        if not os.path.isdir(pattern.root):
            return f"matches no file: directory {pattern.root} does not exist"
        return "matches no file"
