"""A rename under `file_identity.path`: what is at the new path is another file, and what comes to the old one too."""

from collections.abc import Mapping

from registry.state import REMOVED, FileState
from shipper.source.discovery.scanner import FileKey
from shipper.source.discovery.survey import Candidate
from shipper.source.identity.entries import RegistryEntries
from shipper.source.identity.fingerprint import BY_PATH, name_of_entry
from shipper.source.lifecycle.open_files import OpenFiles


def end_renamed(found: Mapping[FileKey, Candidate], open_files: OpenFiles, entries: RegistryEntries) -> None:
    """End the lives of files that a survey found at other paths: they are met again as new ones, from their start. What
    was not read of them is read then, and an entry that stayed would be taken for that of the next file at its path."""
    for harvester in [each for each in open_files.running.values() if _has_moved(each.state, found)]:
        open_files.end(harvester, REMOVED)
    for state in [each for each in entries.closed_entries.values() if _has_moved(each, found)]:
        del entries.closed_entries[name_of_entry(state)]
        open_files.closed.pop((state.device, state.inode), None)
        entries.orphan(entries.ended(state, REMOVED))


def _has_moved(state: FileState, found: Mapping[FileKey, Candidate]) -> bool:
    if not state.key.startswith(BY_PATH) or state.ended is not None:
        return False
    wanted = found.get((state.device, state.inode))
    return wanted is not None and wanted[1].path != state.path
