"""Implement `shipper registry import filebeat`: take over Filebeat's positions, so that no line is sent twice or
missed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from log_shipper.config.text.encodings import padding_unit
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from log_shipper.runtime.locking import FileInUse, lock_exclusively
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.formats.record import readable_path
from log_shipper.shipper.inputs.files.discovery.scanner import Inode, Scanner
from log_shipper.shipper.inputs.files.identity.content import content_of, part_of
from log_shipper.shipper.inputs.files.identity.fingerprint import name_of_file
from log_shipper.shipper.options.model import InputConfig, ScannerConfig
from log_shipper.shipper.positions.filebeat import FilebeatPosition, FilebeatRegistry, find, position_of, read_registry
from log_shipper.shipper.positions.forget import open_alone
from log_shipper.shipper.positions.heads import Fingerprinting, PositionRefused, opened
from log_shipper.shipper.positions.locate import Locator
from log_shipper.shipper.positions.report import ImportReport

ALL_TAKEN = 0
NOTHING_READ = 1
SOME_LEFT = 3  # as with `run --once`: done, except for the reported ones

AT_ONCE = 10_000  # entries per write


def take_over(
    source: Path,
    directory: Path,
    files: DiskFiles,
    inputs: Sequence[InputConfig],
    fingerprinting: Fingerprinting,
    *,
    overwrite: bool,
) -> int:
    """Import positions and return the exit code: 0 if those of all existing files were taken, or are known already; 3
    if some were not; 1 if there are none. Raises StartError, RegistryError, OSError; nothing is changed then."""
    place, report = find(source), ImportReport()
    with _filebeat_stopped(place):
        registry = read_registry(place)
        if registry.damage:
            report.print(f"warning: {registry.damage}. The other positions are imported; some lines may be sent twice")
        store = open_alone(directory, files)
        try:
            return _take(registry, store, inputs, Locator(fingerprinting), report, overwrite=overwrite)
        finally:
            store.close()


def _take(
    registry: FilebeatRegistry,
    store: Store,
    inputs: Sequence[InputConfig],
    locator: Locator,
    report: ImportReport,
    *,
    overwrite: bool,
) -> int:
    located = list(_located(registry, locator, report))
    if not registry.entries:
        report.print(f"{registry.place}: Filebeat's registry is empty")
        return NOTHING_READ
    states = _with_keys(_without_known(_one_a_file(located, report), store, report, overwrite=overwrite), inputs)
    for start in range(0, len(states), AT_ONCE):
        store.write(states[start : start + AT_ONCE])
    for state in states:
        report.print(f"taken   {readable_path(state.path)}: position {state.position} (file id {state.id})")
    report.taken = len(states)
    report.print(str(report))
    return SOME_LEFT if report.left or registry.damage else ALL_TAKEN


def _located(
    registry: FilebeatRegistry, locator: Locator, report: ImportReport
) -> Iterator[tuple[FilebeatPosition, FileState]]:
    for number, (key, entry) in enumerate(registry.entries.items(), 1):
        report.look_at(number, len(registry.entries))
        name = key
        try:
            position = position_of(key, entry)
            name = f"{readable_path(position.source)} ({key})"
            yield position, locator.entry(position)
        except PositionRefused as refusal:
            report.skip(name, refusal)


def _one_a_file(located: Iterable[tuple[FilebeatPosition, FileState]], report: ImportReport) -> list[FileState]:
    """Return one entry per file. Filebeat reads a file once per input and stream, this shipper once. Of several
    positions the smallest is taken: some lines are sent again, while with another some would be missed."""
    by_file: dict[Inode, list[tuple[FilebeatPosition, FileState]]] = {}
    for position, state in located:
        by_file.setdefault((state.device, state.inode), []).append((position, state))
    states = []
    for several in by_file.values():
        # An unused state is one that the log input left when filestream took over the file.
        several.sort(key=lambda entry: (entry[0].unused, entry[1].position))
        states.append(several[0][1])
        for position, state in several[1:]:
            words = f"{state.position}; imported {several[0][1].position}"
            same = state.position == several[0][1].position or position.unused
            report.skip(
                f"{readable_path(state.path)} ({position.key})", PositionRefused("one of several", words, harmless=same)
            )
    return states


def _without_known(states: list[FileState], store: Store, report: ImportReport, *, overwrite: bool) -> list[FileState]:
    present = sorted((state for state in store.states.values() if state.ended is None), key=lambda state: state.updated)
    known = {(state.device, state.inode): state for state in present}  # the newest of several
    taken = []
    for state in states:
        ours = known.get((state.device, state.inode))
        if ours is None:
            taken.append(state)
        elif overwrite:
            # With the same id, what is sent again is recognised as a repeat.
            taken.append(replace(state, id=ours.id, input=ours.input))
        else:
            words = f"at {ours.position} (file id {ours.id}); use --overwrite to replace it by {state.position}"
            report.skip(readable_path(state.path), PositionRefused("known already", words, harmless=True))
    return taken


def _with_keys(states: list[FileState], inputs: Sequence[InputConfig]) -> list[FileState]:
    """Return the entries with the keys of the inputs' `file_identity`, if that is not device and inode."""
    keys: dict[Inode, str] = {}
    for config in inputs:
        if not config.enabled or config.file_identity.name in ("default", "native"):
            continue
        for file in Scanner(config.paths, ScannerConfig(symlinks=True)).scan(full=True).files.values():
            try:
                with opened(file.path) as fd:
                    unit = padding_unit(config.encoding, config.line_terminator)
                    content = content_of(fd, config.compression, file.path, unit)
                    name = name_of_file(config, file, partial(part_of, content), content.ends_before)
            except PositionRefused:
                continue
            if name:
                keys[file.inode] = name
    return [replace(state, key=keys.get((state.device, state.inode), "")) for state in states]


@contextmanager
def _filebeat_stopped(place: Path) -> Iterator[None]:
    """Hold Filebeat's own lock meanwhile, if it has one. Raises StartError if Filebeat runs."""
    locks = [path / "filebeat.lock" for path in (place.parent.parent, place.parent, place)]
    lock = next((path for path in locks if path.is_file()), None)
    if lock is None:
        yield
        return
    fd = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            refusal = lock_exclusively(fd, lock)
        except FileInUse as error:
            holder = "" if error.pid is None else f" (process {error.pid})"
            raise StartError(
                f"{lock}: Filebeat is running{holder} and would continue past the imported positions; stop it, keep "
                "it from starting again, and import again"
            ) from error
        if refusal:
            raise refusal
        yield
    finally:
        os.close(fd)
