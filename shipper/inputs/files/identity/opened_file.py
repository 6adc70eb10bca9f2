"""Files that are open and not read yet, and where their reading begins."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import FileKey, InputSpec
from log_shipper.shipper.inputs.files.identity.content import Content, Plain
from log_shipper.shipper.inputs.files.identity.fingerprint import Name


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A scanned file that was opened. `size` is that of its content, `named` what `file_identity` calls the file, empty
    if that is device and inode; `birth` and `modified` are in nanoseconds, the former 0 where it is unknown."""

    scanned: ScannedFile
    content: Content
    size: int
    named: str
    spec: InputSpec
    birth: int = 0
    modified: int = 0

    @property
    def is_trusted(self) -> bool:
        """True if the file's name alone identifies it, not device and inode confirmed by the bytes."""
        return not self.spec.config.file_identity.is_confirmed

    @property
    def key(self) -> FileKey:
        return (self.spec.id, *self.scanned.inode)

    @property
    def name(self) -> Name:
        return (self.spec.id, self.named) if self.named else self.key


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """The state from which an open file is read, and the path under which it was known, None for a new file. Where the
    file must be proven to have the bytes that were shipped, `was` is the entry before the match."""

    state: FileState
    previous_path: str | None = None
    was: FileState | None = None

    @property
    def is_new(self) -> bool:
        return self.previous_path is None


@contextmanager
def opened_plain(path: str, flags: int = 0) -> Iterator[Plain | None]:
    """Open the file that is at a path now; None where it cannot be opened. `flags`: for open(2), beside the usual
    ones."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except OSError:
        yield None
        return
    try:
        yield Plain(fd)
    finally:
        os.close(fd)


def path_of(fd: int) -> str:
    """Return where an open file is, without links: the kernel's own answer, which no change of the path that it was
    opened by can make another one. Raises OSError."""
    return os.readlink(f"/proc/self/fd/{fd}")


def is_log_of(ids: Sequence[str], path: str) -> bool:
    """True if a path without links is in the log directory of the container or pod with one of these ids: Docker's
    `ID/ID-json.log`, the kubelet's `NAMESPACE_POD_UID/CONTAINER/0.log`. A container can write to neither: what is below
    them (`mounts/shm`, its /dev/shm) may be of any kind."""
    *_, pod, directory, name = ("", "", *path.split("/"))
    return any((directory == id and name.startswith(f"{id}-json.log")) or pod.endswith(f"_{id}") for id in ids)
