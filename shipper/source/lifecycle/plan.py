"""Decides what to do after a survey, from what is known and without touching a file; the crawler carries it out."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from log_shipper.shipper.source.discovery.scanner import ScannedFile
from log_shipper.shipper.source.discovery.spec import Candidate, FileKey
from log_shipper.shipper.source.lifecycle.files import Files
from log_shipper.shipper.source.reading.harvester import Harvester


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do after a survey: files to open, oldest first; open files that have a new path; open files that are no
    longer under the paths."""

    open: list[Candidate]
    renamed: list[tuple[Harvester, ScannedFile]]
    missing: list[Harvester]


def plan(candidates: Mapping[FileKey, Candidate], files: Files, blocked: Container[FileKey]) -> Plan:
    """Return the plan. Closed files are opened again when they have new data; `blocked` ones must not be opened yet."""
    to_open = []
    renamed = []
    closed, running = files.closed, files.running
    for key, candidate in candidates.items():
        if (was := closed.get(key)) is not None:
            is_wanted = was.has_new_data(candidate.file)
        elif (harvester := running.get(key)) is not None:
            is_wanted = False
            if harvester.state.path != candidate.file.path and not harvester.is_removed:
                renamed.append((harvester, candidate.file))
        else:
            is_wanted = files.state(key) is None
        if is_wanted and key not in blocked:
            to_open.append(candidate)
    to_open.sort(key=lambda wanted: wanted.file.modified)
    missing = [file for key, file in running.items() if key not in candidates and not file.is_removed]
    return Plan(to_open, renamed, missing)
