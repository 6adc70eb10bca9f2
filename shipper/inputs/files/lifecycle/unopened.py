"""Report files that disappeared while they waited to be opened: a loss, unless another file has their content.

When Kafka is down, open files cannot be closed, so later ones wait, and rotation may delete them. Of such a file only
the result of a scan is known.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, key_of
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries
from log_shipper.shipper.inputs.files.identity.rotated_names import possible_originals
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)


def report_unopened(
    unopened: Iterable[Candidate],
    candidates: Mapping[FileKey, Candidate],
    entries: RegistryEntries,
    excused: Callable[[str], bool],
    metrics: Metrics,
) -> None:
    """Count and log the loss of waiting files that a survey no longer found. The data known to an entry is reported
    with the entry. `excused` as in RegistryEntries.lose_missing."""
    missing = {candidate.key: candidate for candidate in unopened if not excused(candidate.file.path)}
    if not missing:
        return
    for state in list(entries.closed_entries.values()):
        unseen = missing.pop(key_of(state), None)
        if unseen is not None and state.size_seen:  # else it is compressed
            entries.change(replace(state, size_seen=max(state.size_seen, unseen.file.size)))
    present = candidates.values()
    times = {(spec.id, file.modified) for spec, file, _ in present}  # a moved or compressed file keeps its time
    packed = {
        (spec.id, path)
        for spec, file, _ in present
        if file.path.endswith(".gz")
        for path in possible_originals(file.path)
    }
    for spec, file, _ in missing.values():
        if file.size and (spec.id, file.modified) not in times and (spec.id, file.path) not in packed:
            metrics.bytes_lost += file.size
            _log(file)


def _log(file: ScannedFile) -> None:
    logger.warning(
        "%s disappeared before it could be opened: too many files were open. Raise harvester_limit or RLIMIT_NOFILE. "
        "If the file was deleted, its %d bytes are lost; if it was moved, add its new path to the input's paths",
        file.path,
        file.size,
        extra=EACH,
    )
