"""The Java packages on disk: fetched once by Spark's own resolver, found again without the network.

Each set has a directory of its own in the cache: an Ivy home, in which the resolver puts the jars under `jars/`. The
file `complete` names the packages of the set; it is written last, so a fetch that was interrupted does not count, and
other packages or versions in `versions.py` make the set stale.

    python -m log_shipper.spark_sink.platform.jars         fetches what is missing; prints what failed, and exits 1

With the jars of Spark's set comes the class archive (`class_sharing`) that halves a start.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from log_shipper.spark_sink.platform import versions
from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.class_sharing import ClassArchive, SharingFailed
from log_shipper.spark_sink.platform.java import JavaRuntime, NoJava, find_java

PRINT_EVERY = 5.0
DRIVER_CLASS_PATH = "spark.driver.extraClassPath"


class JarsMissing(Exception):
    """Raised where jars that are needed are not in the cache; the text says how to get them."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """The packages that one program has on its class path, and the directory that they are kept in."""

    title: str
    directory: Path
    packages: tuple[str, ...]

    @property
    def wanted(self) -> str:
        return "\n".join(self.packages) + "\n"

    @property
    def complete(self) -> bool:
        mark = self.directory / "complete"
        return mark.is_file() and mark.read_text() == self.wanted

    def jars(self) -> tuple[Path, ...]:
        """All jars of a complete set, sorted by name; nothing of an incomplete one."""
        return tuple(sorted((self.directory / "jars").glob("*.jar"))) if self.complete else ()


def spark_set(cache: Path | None = None) -> JarSet:
    return JarSet("Delta for Spark", (cache or cache_directory()) / "spark", versions.SPARK_PACKAGES)


def session_options(cache: Path | None = None) -> dict[str, str]:
    """Return the Spark options that bring Delta into a session that this process starts.

    The jars are named by their files in the cache: resolving packages costs 1.5 s at every start, even when all of them
    are cached. They are on the class path of the JVM, not in `spark.jars`: Spark would copy those at each start and
    load the copies, for which no class archive can be made (`class_sharing`). Without a cache Spark resolves the
    packages, once: it keeps them in the same place. Under `spark-submit` none of this is used: its JVM runs already,
    and `--packages` belongs on its command line.
    """
    wanted = spark_set(cache)
    if jars := not_in_spark(wanted.jars()):
        return {DRIVER_CLASS_PATH: os.pathsep.join(map(str, jars))}
    return {
        "spark.jars.packages": ",".join(wanted.packages),
        "spark.jars.ivy": str(wanted.directory),
    }


def not_in_spark(jars: Sequence[Path]) -> list[Path]:
    """Return the jars that Spark does not bring itself in the same version."""
    own = {path.name for path in (spark_home() / "jars").glob("*.jar")}
    return [jar for jar in jars if jar.name.partition("_")[2] not in own]  # the resolver's names begin with the group


def archive_option(java: JavaRuntime, given: str, cache: Path | None = None) -> str:
    """Return the Java option that maps the class archive; empty where none fits. `given`: the user's own options."""
    return _class_archive(cache).options(java, _archive_inputs(cache), given)


def _class_archive(cache: Path | None = None) -> ClassArchive:
    return ClassArchive((cache or cache_directory()) / "classes")


def _archive_inputs(cache: Path | None = None) -> tuple[Path, ...]:
    """Return what the archive depends on: our jars, and the directory of Spark's."""
    return (*not_in_spark(spark_set(cache).jars()), spark_home() / "jars")


def spark_home() -> Path:
    """Return the directory of the installed pyspark. Raises JarsMissing."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsMissing(
            "pyspark is not installed: run script/bootstrap, or pip install '.[sink]' in the project's directory"
        )
    return Path(spec.origin).parent


def fetch(wanted: Sequence[JarSet], java: JavaRuntime) -> list[str]:
    """Let Spark resolve all sets at once. Returns a text for each set that failed; what was downloaded is kept."""
    running = [(jar_set, _start_resolver(jar_set, java)) for jar_set in wanted]
    try:
        _wait(running)
    finally:
        for _, process in running:
            process.terminate()
    return [failure for jar_set, process in running if (failure := _finish(jar_set, process.returncode))]


def _wait(running: Sequence[tuple[JarSet, subprocess.Popen[bytes]]]) -> None:
    began = logged = time.monotonic()
    while any(process.poll() is None for _, process in running):
        time.sleep(0.1)
        if time.monotonic() - logged >= PRINT_EVERY:
            logged = time.monotonic()
            _print(f"  {logged - began:.0f} s, {_downloaded([jar_set for jar_set, _ in running])}")


def _start_resolver(wanted: JarSet, java: JavaRuntime) -> subprocess.Popen[bytes]:
    """Spark resolves packages before it runs a script, so the script is empty."""
    shutil.rmtree(
        wanted.directory / "jars", ignore_errors=True
    )  # jars of an older version would stay beside the new ones
    (wanted.directory / "complete").unlink(missing_ok=True)
    wanted.directory.mkdir(parents=True, exist_ok=True)
    script = wanted.directory / "empty.py"
    script.write_text("")
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]"]
    command += ["--conf", f"spark.jars.ivy={wanted.directory}", "--packages", ",".join(wanted.packages)]
    command.append(str(script))
    environment = java.environment() | {"SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    with _log(wanted).open("wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)


def _finish(wanted: JarSet, status: int) -> str | None:
    if status == 0 and any((wanted.directory / "jars").glob("*.jar")):
        (wanted.directory / "complete").write_text(wanted.wanted)
        return None
    packages = ", ".join(wanted.packages)
    return f"{wanted.title} ({packages}) could not be fetched:\n{reasons(_log(wanted).read_text(errors='replace'))}"


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


def _log(wanted: JarSet) -> Path:
    return wanted.directory / "resolver.log"


def _downloaded(wanted: Sequence[JarSet]) -> str:
    sizes = [jar.stat().st_size for jar_set in wanted for jar in (jar_set.directory / "cache").rglob("*.jar")]
    return f"{len(sizes)} jars, {sum(sizes) / 1e6:.0f} MB so far"


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this module is a command


def install(*others: JarSet) -> int:
    """Fetch Spark's set and `others` as far as they are missing, then make the class archive. Returns the exit code."""
    missing = [jar_set for jar_set in (spark_set(), *others) if not jar_set.complete]
    if missing and (code := _fetch(missing)):
        return code
    try:
        _share_classes(find_java())
    except (NoJava, JarsMissing) as error:
        print(error, file=sys.stderr)  # noqa: T201 - this module is a command
        return 1
    return 0


def _share_classes(java: JavaRuntime) -> None:
    """Make the archive where there is none that fits. A failure is printed and is not an error: every start then takes
    twice as long. Raises JarsMissing."""
    archive, jars = _class_archive(), _archive_inputs()
    if archive.fits(java, jars):
        return
    _print("Making the archive of Spark's classes, which every later start maps (once, up to a minute)")
    try:
        archive.make(java, jars)
    except (SharingFailed, OSError) as error:
        _print(f"No archive of Spark's classes: {error}\nSpark starts without it, in twice the time.")


def _fetch(missing: Sequence[JarSet]) -> int:
    _print("Fetching jars (once): " + "; ".join(jar_set.title for jar_set in missing))
    try:
        failures = fetch(missing, find_java())
    except (NoJava, JarsMissing) as error:
        failures = [str(error)]
    for failure in failures:
        print(failure, file=sys.stderr)  # noqa: T201 - as above
    if failures:
        logs = ", ".join(str(_log(jar_set)) for jar_set in missing)
        print(f"What was downloaded is kept. Full reports: {logs}", file=sys.stderr)  # noqa: T201 - as above
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(install())
