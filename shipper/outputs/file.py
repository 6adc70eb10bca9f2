"""`output.file`: records in a file."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from log_shipper.runtime.disk import DiskFile, open_plain, refuse_dangling, write_all
from log_shipper.runtime.disk_errors import Misplaced, NotDirectory
from log_shipper.shipper.options.model import FileOutputConfig, ShipperConfig
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.output.file import FileOutput, advice, output_file
from log_shipper.shipper.outputs.codecs import make_codec, records_of_codec
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.outputs.kinds import OutputKind, Steps
from log_shipper.shipper.outputs.record_limit import UNLIMITED

TRIED_BYTES = 16 * 1024


def _options(config: ShipperConfig) -> FileOutputConfig:
    assert config.output.file is not None
    return config.output.file


def _open(config: ShipperConfig, context: OutputContext) -> Output:
    chosen = _options(config)
    return FileOutput(output_file(chosen), make_codec(chosen.codec, UNLIMITED), context.publisher, context.clock)


def check_file(config: FileOutputConfig, step: Steps, fsync: Callable[[int], None] = os.fsync) -> bool:
    """Try whether the file can be written."""
    path = Path(config.path) / config.filename
    problem = ""
    try:
        _try_writing(path, fsync)
    except Misplaced as error:
        problem = f"{error}: make what is missing, or set another output.file.path"
    except OSError as error:
        problem = f"{error.strerror}: {advice(error)}"
    return step(f"file: {path} can be written", problem)


def _try_writing(path: Path, fsync: Callable[[int], None]) -> None:
    """Write and sync a file beside the one at the path, or where the directories would be made that are missing. It
    leaves no trace, whatever happens: it has no name. Raises Misplaced, OSError."""
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        os.close(open_plain(target, os.O_RDWR | os.O_APPEND))
    directory = target.parent if path.is_symlink() else _existing(path.parent)
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        write_all(DiskFile(file.fileno()), bytes(TRIED_BYTES))
        fsync(file.fileno())


def _existing(directory: Path) -> Path:
    """Return the directory, or the one above it in which it would be made. Raises Misplaced, OSError."""
    for candidate in (directory, *directory.absolute().parents):
        refuse_dangling(candidate)
        if candidate.is_dir():
            return candidate
        if candidate.exists():
            raise NotDirectory(candidate)
    raise NotDirectory(directory)  # there is always the root


KIND = OutputKind(
    describe=lambda config: f"file {os.path.join(_options(config).path, _options(config).filename)}",
    open=_open,
    check=lambda config, step: check_file(_options(config), step),
    records=records_of_codec,
)
