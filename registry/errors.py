"""The errors of a registry; each message names the file and what to do.

    RegistryError
    ├── RegistryLocked         another process has locked the directory
    ├── RegistryCorrupt        bytes that were once on disk are damaged or missing
    ├── RegistryForeignVersion written in the form of another release
    ├── RegistryMisplaced      what is at its path is not a directory, or not a plain file
    └── RegistryReplaced       while it was in use, another took its place

A disk that refuses a write (full, read-only) raises a plain OSError: that may pass, these do not.
"""

from __future__ import annotations

from pathlib import Path


class RegistryError(Exception):
    pass


class RegistryLocked(RegistryError):
    def __init__(self, directory: Path, pid: int | None) -> None:
        self.directory = directory
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"registry {directory} is in use by {holder}; stop it or use another path.data")


class RegistryReplaced(RegistryError):
    """Raised in the process that was the writer until then: two writers would each undo the other's work."""

    def __init__(self, directory: Path, why: str) -> None:
        self.directory = directory
        super().__init__(
            f"registry {directory} was replaced while this process used it: {why}; this process ends, and the next one"
            " continues with what is there"
        )


class RegistryCorrupt(RegistryError):
    def __init__(self, file: Path, offset: int, why: str) -> None:
        self.file = file
        self.offset = offset
        self.why = why
        super().__init__(
            f"registry file {file} is damaged at byte {offset}: {why}; restore {file.parent} from a backup,"
            " or move it away to begin without positions (every file is then shipped again from its start)"
        )


class RegistryForeignVersion(RegistryError):
    def __init__(self, file: Path, version: int, known: int) -> None:
        self.file = file
        self.version = version
        super().__init__(
            f"registry file {file} has format version {version}, this release reads version {known} only; run the"
            f" release that wrote it, or move {file.parent} away to begin without positions (every file is then"
            " shipped again from its start)"
        )


class RegistryMisplaced(RegistryError):
    """Raised where something else is at the registry's path. Taken for a registry that does not exist yet, it would let
    every file be shipped again from its start."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"registry {path} {why}")
