"""Files that disappear while they wait for their turn to be opened: a loss, unless another file has their content.

When Kafka is down, open files cannot be closed, so those that come later wait, and rotation may delete them by then. Of
such a file no more is known than what a scan saw of it.
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
    """Count and log what is lost of files that waited, and that a survey did not find any more. What an entry knows
    of its file is reported with the entry. `excused` as in RegistryEntries.lose_missing."""
    missing = {candidate.key: candidate for candidate in unopened if not excused(candidate.file.path)}
    if not missing:
        return
    for state in list(entries.closed_entries.values()):
        unseen = missing.pop(key_of(state), None)
        if unseen is not None and state.size_seen:  # else it is compressed
            entries.change(replace(state, size_seen=max(state.size_seen, unseen.file.size)))
    present = candidates.values()
    times = {(spec.id, file.modified) for spec, file, _ in present}  # a file that is moved or compressed keeps its time
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
        "%s no longer exists under the paths and was not opened before, because as many files were open as may be "
        "(harvester_limit, or the descriptors of the process): its %d bytes are lost if it was deleted; if it was "
        "moved, add its new path to the paths",
        file.path,
        file.size,
        extra=EACH,
    )
