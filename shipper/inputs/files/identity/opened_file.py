"""Represent files that are open and not read yet, and where their reading begins."""

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import FileKey, InputSpec
from log_shipper.shipper.inputs.files.identity.content import Content, Plain, close_descriptor
from log_shipper.shipper.inputs.files.identity.fingerprint import Name


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A scanned file that was opened. `size` is that of its content, `named` its name by `file_identity`, empty for
    device and inode; `birth` and `modified` in nanoseconds, `birth` 0 if unknown."""

    scanned: ScannedFile
    content: Content
    size: int
    named: str
    spec: InputSpec
    birth: int = 0
    modified: int = 0

    @property
    def is_trusted(self) -> bool:
        """Return True if the name alone identifies the file; no other file can be a copy of it."""
        return not self.spec.config.file_identity.recognises_copies

    @property
    def birth_of_inode(self) -> int:
        """The time of birth, 0 if the inode does not identify the file."""
        return 0 if self.is_trusted else self.birth

    @property
    def has_content_as_name(self) -> bool:
        """Return True if the selected bytes are the name, whatever the others are."""
        return self.is_trusted and self.spec.config.file_identity.name == "fingerprint"

    @property
    def key(self) -> FileKey:
        return (self.spec.id, *self.scanned.inode)

    @property
    def name(self) -> Name:
        return (self.spec.id, self.named) if self.named else self.key

    @property
    def is_removed(self) -> bool:
        """Return True if it has been deleted. An error is reported when the file is read."""
        with suppress(OSError):
            return os.fstat(self.content.fd).st_nlink == 0
        return False

    def close(self) -> None:
        close_descriptor(self.content.fd)


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """The state from which an open file is read, and the path under which it was known, None for a new file. `was`: the
    entry before the match, if the file must be proven to have its bytes."""

    state: FileState
    previous_path: str | None = None
    was: FileState | None = None

    @property
    def is_new(self) -> bool:
        return self.previous_path is None


def new_state(opened: OpenedFile, now: float) -> FileState:
    """Return the entry of a file that has none, with a new id. `now`: unix time. Raises OSError."""
    content, inode = opened.content, opened.scanned.inode
    return FileState(
        id=uuid.uuid4().hex,
        path=opened.scanned.path,
        device=inode[0],
        inode=inode[1],
        size_seen=0 if content.compressed else opened.size,
        fingerprint=content.fingerprint(),
        updated=now,
        input=opened.spec.id,
        key=opened.named,
        birth=opened.birth,
        modified=opened.modified,
    )


@contextmanager
def opened_plain(path: str, flags: int = 0) -> Iterator[Plain | None]:
    """Open the file at a path; return None if it cannot be opened. `flags`: for open(2), in addition to the usual
    ones."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except OSError:
        yield None
        return
    try:
        yield Plain(fd)
    finally:
        close_descriptor(fd)


def path_of(fd: int) -> str:
    """Return the path of an open file, without links, from the kernel: later changes of the path cannot affect it.
    Raises OSError."""
    return os.readlink(f"/proc/self/fd/{fd}")


def is_log_of(ids: Sequence[str], path: str) -> bool:
    """Return True if a path without links is in the log directory of the container or pod with one of these ids:
    Docker's `ID/ID-json.log`, the kubelet's `NAMESPACE_POD_UID/CONTAINER/0.log`. A container can write to neither, but
    the directories below them (`mounts/shm`, its /dev/shm) may contain anything."""
    *_, pod, directory, name = ("", "", *path.split("/"))
    return any((directory == id and name.startswith(f"{id}-json.log")) or pod.endswith(f"_{id}") for id in ids)
