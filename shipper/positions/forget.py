"""Implement `shipper registry forget`: remove entries, so that their files are read again from the start."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from log_shipper.registry.errors import RegistryLocked
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.formats.record import readable_path
from log_shipper.shipper.positions.view import entries_of

Confirm = Callable[[str], bool]


def confirm_at_terminal(question: str) -> bool:
    """Ask at the terminal. Raises StartError if there is none."""
    if sys.stdin is None or not sys.stdin.isatty():  # None: closed (`<&-`)
        raise StartError("nothing was changed: confirmation needs a terminal, or --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def forget(directory: Path, names: Sequence[str], files: DiskFiles, confirm: Confirm) -> bool:
    """Remove all of the entries, or none. Return False if the user did not confirm.

    Raises StartError (unknown name, an agent runs), RegistryError, OSError.
    """
    _chosen(read(directory), names)  # first, so that a wrong name does not create a registry
    store = open_alone(directory, files)
    try:
        chosen = _chosen(store.states, names)
        for state in chosen:
            print(f"{visible(readable_path(state.path))}  (file id {state.id}, position {state.position:,})")  # noqa: T201
        if not confirm(f"Forget {_count(chosen)}? Their files, if they still exist, are shipped again in full."):
            print("nothing was changed")  # noqa: T201
            return False
        store.write([], [state.id for state in chosen])
    finally:
        store.close()
    print(f"forgot {_count(chosen)}; the next run reads their files from the start, under new file ids")  # noqa: T201
    return True


def open_alone(directory: Path, files: DiskFiles) -> Store:
    """Open the registry for changes. Raises StartError while an agent runs, RegistryError, OSError."""
    try:
        return Store.open(directory, files)
    except RegistryLocked as error:
        who, how = "a running shipper", "stop it"
        if error.pid is not None:
            who, how = f"process {error.pid}", f"stop it (kill {error.pid}, or your service manager)"
        raise StartError(
            f"registry {directory} is in use by {who}, which would overwrite this change; {how}, run this "
            "command again, then restart it"
        ) from error


def _chosen(states: dict[str, FileState], names: Sequence[str]) -> list[FileState]:
    return list({state.id: state for name in names for state in entries_of(states, name)}.values())


def _count(chosen: Sequence[FileState]) -> str:
    return f"{len(chosen)} " + ("entry" if len(chosen) == 1 else "entries")
