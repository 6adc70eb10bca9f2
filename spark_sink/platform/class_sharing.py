"""Class data sharing (CDS): Java maps Spark's classes from an archive instead of reading, parsing and verifying them.

A start of Spark loads about 20,000 classes from 300 jars, half of its time. The archive (200 MB, shared in memory by
all JVMs that map it) is made once: a short run of the sink records its classes, and `java -Xshare:dump` archives them.
Java itself refuses an archive of another Java or of other jars, and then loads the classes as usual: a stale archive
costs time, never correctness. `key` only tells when to make a new one.

    python -m log_shipper.spark_sink.platform.class_sharing     makes the archive if it is missing or stale

Source: JEP 310, JEP 350; the options are HotSpot's, since Java 17.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.java import JavaRuntime, NoJava, bundled_java, find_java
from log_shipper.spark_sink.platform.jvm import spark_home

TRAINING_SECONDS = 300.0  # a run takes about ten on an idle machine
MAX_SECONDS = 3 * TRAINING_SECONDS  # a run and two dumps
TRAIN = (sys.executable, "-m", "log_shipper.spark_sink.platform.class_training")
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


class SharingFailed(Exception):
    """Raised if the archive could not be made; the text has the step, and the last output of Java or of the run."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one cache directory, and the file `key` beside it, which is written last."""

    directory: Path

    @property
    def path(self) -> Path:
        return self.directory / "classes.jsa"

    def fits(self, java: JavaRuntime, jars: Iterable[Path]) -> bool:
        """Return True if the archive was made by this Java for these jars. Compares only file times and sizes."""
        made_for = self.directory / "key"
        return self.path.is_file() and made_for.is_file() and made_for.read_text() == key(java, jars)

    def options(self, java: JavaRuntime, jars: Iterable[Path], given: str) -> str:
        """Return the Java options that map the archive; empty if none fits, or if the user's options (`given`) name
        another one."""
        chosen = "-Xshare" in given or "SharedArchiveFile" in given
        # Java 21 prints a warning if it ignores the archive, for example in a session with other jars.
        return "" if chosen or not self.fits(java, jars) else f"-XX:SharedArchiveFile={self.path} -Xlog:cds=off"

    def make(self, java: JavaRuntime, jars: Iterable[Path], train: Sequence[str] = TRAIN) -> None:
        """Make the archive. Blocks for up to a minute. Raises SharingFailed, and then keeps the existing archive.

        `train`: the command of the training run, which gets a directory as its last argument.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        self._remove_left_behind()
        with tempfile.TemporaryDirectory(dir=self.directory, prefix="training-") as scratch:
            directory = Path(scratch)
            environment = {**java.environment(), "SHIPPER_CACHE": str(self.directory.parent)}
            _run("the training run", [*train, str(directory)], environment)
            class_path = _accepted(java, class_path_file(directory).read_text(), directory)
            _dump(java, class_path, class_list(directory), directory / "classes.jsa")
            (self.directory / "key").unlink(missing_ok=True)
            (directory / "classes.jsa").rename(self.path)  # a JVM that maps the old one keeps it
            (self.directory / "key").write_text(key(java, jars))

    def _remove_left_behind(self) -> None:
        """Remove files of killed training runs, up to 400 MB each."""
        for scratch in self.directory.glob("training-*"):
            with suppress(FileNotFoundError):  # its run has just removed it
                if scratch.stat().st_mtime < time.time() - MAX_SECONDS:
                    shutil.rmtree(scratch, ignore_errors=True)


def archive_option(java: JavaRuntime, given: str) -> str:
    """Return the Java option that maps the archive; empty if none fits. `given`: the user's options."""
    return _archive().options(java, _jars(), given)


def _archive() -> ClassArchive:
    return ClassArchive(cache_directory() / "classes")


def _jars() -> tuple[Path, ...]:
    """Return the directory of Spark's jars, for which the archive is made. Other jars follow on the class path."""
    return (spark_home() / "jars",)


def class_list(directory: Path) -> Path:
    """Return the training run's file with the names of the classes."""
    return directory / "classes.list"


def class_path_file(directory: Path) -> Path:
    """Return the training run's file with Java's class path, made by Spark's launcher."""
    return directory / "class.path"


def key(java: JavaRuntime, jars: Iterable[Path]) -> str:
    """Return the dependencies of an archive: the Java and the jars, each with size and modification time."""
    bundled = bundled_java()
    return "".join(f"{_stamp(path)}\n" for path in (java.java, *([bundled] if bundled else []), *jars))


def _accepted(java: JavaRuntime, class_path: str, directory: Path) -> str:
    """Return the class path, or all of it except its last entry, if Java accepts that archive. Raises SharingFailed.

    Java 21.0.8 refuses its own archive, with the same class path, for one order of Spark's jars and not for others. An
    archive fits every class path that begins with its own.
    """
    no_classes, archive = directory / "none.list", directory / "empty.jsa"
    no_classes.touch()
    entries = class_path.split(os.pathsep)
    for entries_kept in (entries, entries[:-1]):
        _dump(java, os.pathsep.join(entries_kept), no_classes, archive)
        check = [str(java.java), "-Xshare:on", f"-XX:SharedArchiveFile={archive}", "-cp", class_path, "-version"]
        try:
            _run("java -Xshare:on", check)
        except SharingFailed as error:
            refused = error
        else:
            return os.pathsep.join(entries_kept)
    raise refused


def _dump(java: JavaRuntime, class_path: str, classes: Path, archive: Path) -> None:
    command = [str(java.java), "-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={archive}"]
    archive.unlink(missing_ok=True)
    _run("java -Xshare:dump", [*command, *_QUIET, "-cp", class_path])


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _run(step: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TRAINING_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SharingFailed(f"{step} failed: {error}") from error
    if done.returncode != 0:
        output = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        last = "\n".join(f"    {line[:300]}" for line in output if not line.startswith("\tat "))[-2000:]
        raise SharingFailed(f"{step} exited with code {done.returncode}:\n{last}")


def main() -> int:
    """Make the archive if it is missing or stale. If that fails, starts only take longer, so the exit code is 0."""
    try:
        archive, java = _archive(), find_java()
        if not archive.fits(java, _jars()):
            note = "Creating the archive of Spark's classes, which speeds up later starts (once, up to a minute)"
            print(note, flush=True)  # noqa: T201 - this module is a command
            archive.make(java, _jars())
    except NoJava as error:
        print(error, file=sys.stderr)  # noqa: T201 - as above
        return 1
    except (SharingFailed, OSError) as error:
        print(f"No archive of Spark's classes: {error}\nStarting without it, which takes twice as long.")  # noqa: T201 - as above
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
