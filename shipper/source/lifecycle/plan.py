"""Decides what to do after a survey, from what is known and without touching a file; the crawler carries it out."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from log_shipper.shipper.source.discovery.scanner import ScannedFile
from log_shipper.shipper.source.discovery.spec import Candidate, FileKey
from log_shipper.shipper.source.lifecycle.open_files import ClosedFile
from log_shipper.shipper.source.reading.harvester import Harvester


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do after a survey: files to open, oldest first; open files that have a new path; open files that are no
    longer under the paths."""

    open: list[Candidate]
    renamed: list[tuple[Harvester, ScannedFile]]
    missing: list[Harvester]


def plan(
    candidates: Mapping[FileKey, Candidate],
    running: Mapping[FileKey, Harvester],
    closed: Mapping[FileKey, ClosedFile],
    blocked: Container[FileKey],
    waits: Callable[[FileKey], bool],
) -> Plan:
    """Return the plan. `running` are the open files that were not removed; `closed` files are opened again when their
    size or time of change differs; `blocked` ones must not
    be opened; one that `waits` for a place was planned before."""
    to_open = []
    renamed = []
    for key, candidate in candidates.items():
        file = candidate.file
        if key in running:
            if running[key].state.path != file.path:
                renamed.append((running[key], file))
        elif (key not in closed or closed[key].has_new_data(file)) and not (key in blocked or waits(key)):
            to_open.append(candidate)
    to_open.sort(key=lambda wanted: wanted.file.modified)
    return Plan(to_open, renamed, [harvester for key, harvester in running.items() if key not in candidates])
