"""Java packages on disk: downloaded once by Spark's own resolver, then found without the network.

Each set has its own directory in the cache: an Ivy home, where the resolver puts the jars under `jars/`. The file
`complete` names the packages; it is written last, so that interrupted downloads and jars of other versions do not
count.
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
    """Raised if required jars are missing; the text says how to get them."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """The packages on the class path of one program, and their directory. `excluded`: dependencies that the program
    already has."""

    directory: Path
    packages: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        mark = self.directory / "complete"
        return mark.is_file() and mark.read_text() == self._content

    def jars(self) -> tuple[Path, ...]:
        """All jars of a complete set, sorted by name; empty if it is incomplete."""
        return tuple(sorted((self.directory / "jars").glob("*.jar"))) if self.complete else ()

    def fetch(self, java: JavaRuntime) -> None:
        """Let Spark resolve the packages, unless they are complete. Raises JarsMissing, and keeps downloaded files."""
        if self.complete:
            return
        _print(f"Downloading {', '.join(self.packages)} (once)")
        shutil.rmtree(self.directory / "jars", ignore_errors=True)  # removes jars of older versions
        (self.directory / "complete").unlink(missing_ok=True)
        process = self._start_resolver(java)
        try:
            self._wait(process)
        finally:
            process.terminate()
        if process.returncode or not any((self.directory / "jars").glob("*.jar")):
            report = reasons(self._log.read_text(errors="replace"))
            raise JarsMissing(f"cannot download {', '.join(self.packages)}:\n{report}\nFull log: {self._log}")
        (self.directory / "complete").write_text(self._content)

    @property
    def _content(self) -> str:
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
        first = self.packages[0].split(":")[1]  # two sets may be downloaded at the same time
        began = logged = time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            if time.monotonic() - logged >= PRINT_EVERY:
                logged = time.monotonic()
                sizes = [jar.stat().st_size for jar in (self.directory / "cache").rglob("*.jar")]
                _print(f"  {first}: {logged - began:.0f} s, {len(sizes)} jars, {sum(sizes) / 1e6:.0f} MB so far")


def fetched(jar_set: Callable[[], JarSet]) -> int:
    """Download a set of jars, as a command. Prints errors, and returns the exit code."""
    try:
        jar_set().fetch(find_java())
    except (JarsMissing, NoJava) as error:
        _print(str(error))
        return 1
    return 0


def reasons(log: str) -> str:
    """Return the lines of the resolver's long report with the reason, most specific first; without any, its last
    lines."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    relevant = [
        line
        for mark in ("unresolved dependency", "download failed", "[FAILED", "Server access error", "not found. url=")
        for line in lines
        if mark in line and "spark-packages.org" not in line  # a second repository, which never has these packages
    ]
    return "\n".join(f"    {line[:300]}" for line in (list(dict.fromkeys(relevant)) or lines[-8:])[:4])


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the user waits for a download
