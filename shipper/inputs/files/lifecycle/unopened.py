"""Report files that disappeared before they were opened: a loss, unless another file has their content.

When Kafka is down, open files cannot be closed, so later ones wait, and rotation may delete them. A file may also
disappear between its listing and its opening. Of such a file only the result of a scan is known.
"""

import logging
import os
from collections.abc import Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from log_shipper.registry.state import FileState
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, key_of
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries
from log_shipper.shipper.inputs.files.identity.rotated_names import is_named_after, log_of, possible_originals
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)


def was_replaced(before: ScannedFile, now: ScannedFile) -> bool:
    """Return True if a waiting file was truncated, or deleted and its inode is used again, which only its size shows,
    or that a rotated file seems to be the log now. What was rewritten to a larger size goes unnoticed."""
    if now.size < before.size:
        return True
    may_be_other = now.path != before.path and now.modified > before.modified
    return may_be_other and log_of(now.path) == log_of(before.path) and is_named_after(before.path, now.path)


def report_unopened(
    unopened: Iterable[Candidate],
    candidates: Mapping[FileKey, Candidate],
    known: Container[FileKey],
    entries: RegistryEntries,
    metrics: Metrics,
) -> None:
    """Count and log the loss of files that a survey no longer found, or with other content, before they were opened.
    The data known to an entry is reported with the entry. `known`: the files that are not new in this survey."""
    missing = {candidate.key: candidate for candidate in unopened}
    for state in list(entries.closed_entries.values()):
        unseen = missing.pop(key_of(state), None)
        if unseen is not None and not _seems_compressed(state):
            entries.change(replace(state, size_seen=max(state.size_seen, unseen.file.size)))
    found = _found_elsewhere(missing.values(), candidates, known) if missing else set()
    for key, candidate in missing.items():
        if candidate.file.size and key not in found:
            metrics.bytes_lost += candidate.file.size
            _log(candidate.file, is_replaced=key in candidates)


def _seems_compressed(state: FileState) -> bool:
    """Return True if no size of the content was seen, although the file was not empty."""
    return not state.size_seen and bool(state.fingerprint[0] or state.compressed)


def _found_elsewhere(
    missing: Collection[Candidate], candidates: Mapping[FileKey, Candidate], known: Container[FileKey]
) -> set[FileKey]:
    """Return the missing files of which another file may be a copy."""
    by_time: dict[tuple[str, float], set[FileKey]] = {}  # a moved or compressed file keeps its time
    by_path: dict[tuple[str, str], Candidate] = {}
    for candidate in missing:
        by_time.setdefault((candidate.spec.id, candidate.file.modified), set()).add(candidate.key)
        by_path[candidate.spec.id, candidate.file.path] = candidate
    directories = {os.path.dirname(path) for _, path in by_path}
    found: set[FileKey] = set()
    for spec, file, key in candidates.values():  # there may be a hundred thousand
        if key not in known:  # many files may have the same time
            found |= by_time.get((spec.id, file.modified), set()) - {key}
        if os.path.dirname(file.path) in directories:
            originals = [by_path[spec.id, path] for path in possible_originals(file.path) if (spec.id, path) in by_path]
            found |= {original.key for original in originals if _may_be_copy(file, original.file)} - {key}
    return found


def _may_be_copy(file: ScannedFile, original: ScannedFile) -> bool:
    """Return True if a file with the name of a rotated one may have the original's content: it is not older. It may be
    known already, because it is listed as soon as its compression or copying begins."""
    if file.modified < original.modified:
        return False
    if file.path.endswith(".gz"):
        return True
    if log_of(file.path) != log_of(original.path):
        return False
    with suppress(OSError):  # a scan may have seen it before it was complete
        return os.stat(file.path).st_size >= original.size
    return False


def _log(file: ScannedFile, *, is_replaced: bool) -> None:
    if is_replaced:
        words = (
            f"was truncated, or deleted and its inode reused, before it could be opened: its {file.size} bytes are lost"
        )
    else:
        words = (
            f"disappeared before it could be opened. If it was deleted, its {file.size} bytes are lost; if it was "
            "moved, add its new path to the input's paths"
        )
    logger.warning(
        f"{file.path} {words}. If files often wait to be opened, raise harvester_limit or RLIMIT_NOFILE",
        extra=EACH,
    )
