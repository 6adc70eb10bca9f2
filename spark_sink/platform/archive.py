"""The sink's Python for a cluster: a zip for `--py-files`, and the script for `spark-submit` to start.

    python -m spark_sink.platform.archive DIRECTORY         writes sink.zip and spark-sink.py there

The zip has the packages `spark_sink`, `config`, `kafka_client` and `logs` as they are installed here, and what they
import that Spark does not bring: PyYAML, ecs_logging and prometheus_client, without compiled parts, so that it runs on
any machine and Python from 3.11 on. What is compiled, such as Kafka's client, is of the environment there.
"""

import importlib.util
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("config", "kafka_client", "logs", "spark_sink", "yaml", "ecs_logging", "prometheus_client")
COMPILED = {".pyc", ".so", ".pyd", ".pyx", ".pxd", ".c"}

MAIN = '''\
"""Started by spark-submit, with sink.zip as --py-files; the options are those of `spark-sink`."""

from spark_sink.__main__ import main

raise SystemExit(main())
'''


def write(directory: Path) -> tuple[Path, Path]:
    """Write the zip and the script, over existing ones, and return their paths. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    archive, script = directory / "sink.zip", directory / "spark-sink.py"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in PACKAGES:
            for path, inside in _files(name):
                packed.write(path, inside)
    script.write_text(MAIN)
    return archive, script


def _files(package: str) -> Iterator[tuple[Path, str]]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"the package {package} is not installed here: pip install '.[sink]' in the project's directory"
        )
    root = Path(spec.origin).parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix not in COMPILED:
            yield path, str(Path(package) / path.relative_to(root))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m spark_sink.platform.archive DIRECTORY", file=sys.stderr)  # noqa: T201 - this module is a command
        return 2
    try:
        archive, script = write(Path(arguments[0]))
    except OSError as error:
        print(f"cannot write the archive: {error}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    print(f"spark-submit … --py-files {archive} {script} run -c sink.yml")  # noqa: T201 - as above
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
