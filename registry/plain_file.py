"""Opens what must be a plain file of ours, and tells whether a path still leads to what is open."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from registry.errors import RegistryMisplaced


def open_plain(path: Path, flags: int, mode: int = 0) -> int:
    """A plain file. Raises RegistryMisplaced for a symlink, because a rename replaces it and not its target, and for a
    directory, FIFO or device, which could block for ever."""
    try:
        made = bool(flags & os.O_CREAT) and not path.exists()
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
        if made:
            give_away(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_dangling(path)
            target = os.readlink(path)
            why = f"is a symlink to {target}, which a rename would replace; move the file here, or link the directory"
            raise RegistryMisplaced(path, why) from error
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise RegistryMisplaced(path, _NO_FILE) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RegistryMisplaced(path, _NO_FILE)
    return descriptor


def give_away(path: Path) -> None:
    """What root makes (`sudo shipper registry forget`) belongs to whom its directory belongs to: the daemon's user, who
    could not open it otherwise."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        with suppress(PermissionError):  # root of an NFS client may be nobody
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


_NO_FILE = "is not a plain file; move it away, and restore the file from a backup if there is one"


def refuse_dangling(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        why = (
            f"is a symlink to {os.readlink(path)}, which does not exist; mount or make that,"
            " or remove the symlink to begin without positions (every file is then shipped again from its start)"
        )
        raise RegistryMisplaced(path, why)


def leads_to(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
