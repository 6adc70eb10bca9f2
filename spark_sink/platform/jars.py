"""Java packages on disk: fetched once by Spark's own resolver, found again without the network.

A set has a directory of its own in the cache: an Ivy home, in which the resolver puts the jars under `jars/`. The file
`complete` names the packages; it is written last, so a fetch that was interrupted does not count, and neither do jars
of other versions.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.platform.java import JavaRuntime, NoJava, find_java
from log_shipper.spark_sink.platform.jvm import spark_home

PRINT_EVERY = 5.0


class JarsMissing(SinkError):
    """Raised where jars that are needed are not there; the text says how to get them."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """The packages that one program has on its class path, and the directory that they are kept in. `excluded`: what
    they depend on, and is there in any case."""

    directory: Path
    packages: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        mark = self.directory / "complete"
        return mark.is_file() and mark.read_text() == self._wanted

    def jars(self) -> tuple[Path, ...]:
        """All jars of a complete set, sorted by name; nothing of an incomplete one."""
        return tuple(sorted((self.directory / "jars").glob("*.jar"))) if self.complete else ()

    def fetch(self, java: JavaRuntime) -> None:
        """Let Spark resolve the packages; do nothing where they are complete. Raises JarsMissing; what was downloaded
        is kept."""
        if self.complete:
            return
        _print(f"Downloading {', '.join(self.packages)} (once)")
        shutil.rmtree(self.directory / "jars", ignore_errors=True)  # jars of an older version would stay there
        (self.directory / "complete").unlink(missing_ok=True)
        process = self._start_resolver(java)
        try:
            self._wait(process)
        finally:
            process.terminate()
        if process.returncode or not any((self.directory / "jars").glob("*.jar")):
            report = reasons(self._log.read_text(errors="replace"))
            raise JarsMissing(f"cannot download {', '.join(self.packages)}:\n{report}\nFull log: {self._log}")
        (self.directory / "complete").write_text(self._wanted)

    @property
    def _wanted(self) -> str:
        return "\n".join(self.packages) + "\n"

    @property
    def _log(self) -> Path:
        return self.directory / "resolver.log"

    def _start_resolver(self, java: JavaRuntime) -> subprocess.Popen[bytes]:
        """Spark resolves packages before it runs a script, so the script is empty."""
        self.directory.mkdir(parents=True, exist_ok=True)
        script = self.directory / "empty.py"
        script.write_text("")
        command = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]"]
        command += ["--conf", f"spark.jars.ivy={self.directory}", "--packages", ",".join(self.packages)]
        command += ["--exclude-packages", ",".join(self.excluded)] if self.excluded else []
        environment = java.environment() | {"SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [*command, str(script)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        began = logged = time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            if time.monotonic() - logged >= PRINT_EVERY:
                logged = time.monotonic()
                sizes = [jar.stat().st_size for jar in (self.directory / "cache").rglob("*.jar")]
                _print(f"  {logged - began:.0f} s, {len(sizes)} jars, {sum(sizes) / 1e6:.0f} MB so far")


def fetched(wanted: Callable[[], JarSet]) -> int:
    """Fetch a set of jars, as a command. Prints what failed, and returns the exit code."""
    try:
        wanted().fetch(find_java())
    except (JarsMissing, NoJava) as error:
        _print(str(error))
        return 1
    return 0


def reasons(log: str) -> str:
    """Return the lines of the resolver's long report that give the reason, the most specific first; without any, its
    last lines."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    relevant = [
        line
        for mark in ("unresolved dependency", "download failed", "[FAILED", "Server access error", "not found. url=")
        for line in lines
        if mark in line
        and "spark-packages.org" not in line  # a second repository, which is asked for everything and has nothing
    ]
    return "\n".join(f"    {line[:300]}" for line in (list(dict.fromkeys(relevant)) or lines[-8:])[:4])


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a download is waited for
