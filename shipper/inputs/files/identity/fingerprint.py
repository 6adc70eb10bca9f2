"""Identify files by device and inode, confirmed by the bytes at the head and before the position."""

from collections.abc import Callable

from log_shipper.config.text.digests import blake2
from log_shipper.config.yaml.files import read_plain
from log_shipper.registry.state import MISSING, FileState
from log_shipper.shipper.inputs.files.discovery.directory import inode_at
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import FileKey, key_of
from log_shipper.shipper.options.model import FileIdentityConfig, InputConfig
from log_shipper.shipper.reader.log_file import TAIL_SIZE, read_fully

HEAD_SIZE = 1024

BY_PATH = "path:"  # the prefix of a name that is a path

# The name that identifies a file of an input: device and inode, or the result of `file_identity`.
Name = FileKey | tuple[str, str]


def digest(data: bytes) -> str:
    return blake2(data, size=12).hex()


def fingerprint(fd: int, length: int = HEAD_SIZE) -> tuple[int, str]:
    """Return length and hash of a file's head, at most `length` bytes. Raises OSError."""
    head = read_fully(fd, length, 0)
    return len(head), digest(head)


def tail_hash(fd: int, position: int) -> str:
    """Return the hash of up to 256 bytes before `position`. Raises OSError."""
    start = max(position - TAIL_SIZE, 0)
    return digest(read_fully(fd, position - start, start))


def name_of_entry(state: FileState) -> Name:
    return (state.input, state.key) if state.key else key_of(state)


def is_found_by_name(state: FileState) -> bool:
    """Return True if a file with the entry's name resumes there. A file at the path or inode of a truncated or deleted
    file is new; with the same fingerprint, it is the same content."""
    return state.ended is None or state.key.startswith("fingerprint:") or (state.key != "" and state.ended == MISSING)


def is_elsewhere(state: FileState) -> bool:
    """Return True if the file is known by its path, but is not there any more."""
    return state.key.startswith(BY_PATH) and inode_at(state.key.removeprefix(BY_PATH)) != (state.device, state.inode)


def name_of_file(
    config: InputConfig, scanned: ScannedFile, part: Callable[[int, int], bytes], ends_before: Callable[[int], bool]
) -> str | None:
    """Return the name of a file: empty for device and inode, None for a file that is still too short for a name. `part`
    returns bytes of the content from an offset; `ends_before` is true if it ends before an offset and cannot grow.
    Raises OSError."""
    identity = config.file_identity
    match identity.name:
        case "path":
            return f"{BY_PATH}{scanned.path}"
        case "inode_marker":
            try:
                marker = read_plain(identity.marker).decode("utf-8", "replace").strip()
            except OSError as error:
                why = f"file_identity.inode_marker: {identity.marker}: {error.strerror}"
                raise OSError(error.errno, why) from error
            return f"inode_marker:{marker}:{scanned.inode[1]}"
        case "fingerprint" if not identity.growing:
            return name_by_fingerprint(identity, part, ends_before)
    return ""


def name_by_fingerprint(
    identity: FileIdentityConfig, part: Callable[[int, int], bytes], ends_before: Callable[[int], bool]
) -> str | None:
    """Return the name of a file under `file_identity.fingerprint`; the rest as in `name_of_file`."""
    taken = part(identity.offset, identity.length)
    is_all = len(taken) == identity.length or (taken and ends_before(identity.offset + identity.length))
    return f"fingerprint:{identity.offset}:{len(taken)}:{digest(taken)}" if is_all else None


def name_of_short_file(identity: FileIdentityConfig) -> str:
    """Return the name shared by all files too short for `file_identity.fingerprint`: no entry has it."""
    return f"fingerprint:{identity.offset}:{identity.length}:"
