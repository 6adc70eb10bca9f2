"""The sink's Python for a cluster: an archive for `--archives`, and the script for `spark-submit` to start.

    python -m log_shipper.spark_sink.platform.archive DIRECTORY [DISTRIBUTION ...]

writes sink-packages.tar.gz and spark-sink.py there. The archive contains the installed sink and the libraries that it
imports, compiled for this platform and Python: all that the driver and the executors need besides Spark. Further named
distributions are packed too.

It has no interpreter. Neither has a virtual environment in an archive: its `bin/python` is a link to the interpreter of
the machine where it was made, which also has the standard library.
"""

import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import log_shipper
from log_shipper.spark_sink.platform.executors import LIBRARIES, OURS, UNPACKED

# Imported only by the driver, not by tasks.
OF_THE_DRIVER = ("ecs-logging", "prometheus-client")
COMPRESSION = 3  # of 9: mostly machine code; a higher level costs a minute for a tenth of the size

MAIN = f'''\
"""Started by spark-submit, with sink-packages.tar.gz as --archives; the options are those of `spark-sink`."""

import os
import sys

# Where the driver runs on the cluster, Spark has unpacked the archive beside it.
if os.path.isdir("{UNPACKED}"):
    sys.path.insert(0, os.path.abspath("{UNPACKED}"))

from log_shipper.spark_sink.__main__ import main

raise SystemExit(main())
'''


class NotInstalled(Exception):
    """Raised if a package is not installed here; the text says how to install it."""


def write(directory: Path, others: Sequence[str] = ()) -> tuple[Path, Path]:
    """Write the archive and the script, replacing existing ones, and return their paths. `others`: more distributions.

    Raises NotInstalled, OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    archive, script = directory / "sink-packages.tar.gz", directory / "spark-sink.py"
    with tarfile.open(archive, "w:gz", compresslevel=COMPRESSION) as packed:
        for path, name in contents([*LIBRARIES.values(), *OF_THE_DRIVER, *others]):
            packed.add(path, name, recursive=False)
    script.write_text(MAIN)
    return archive, script


def contents(names: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield each file, and its path in the archive: of the sink, these distributions, and their requirements.

    Raises NotInstalled.
    """
    yield Path(log_shipper.__file__), "log_shipper/__init__.py"
    for package in OURS:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise NotInstalled(_missing(package))
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                yield path, str(Path(*package.split(".")) / path.relative_to(root))
    for part in with_requirements(names):
        for file in part.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":  # programs are outside of the packages
                yield Path(str(file.locate())), str(file)


def with_requirements(names: Sequence[str]) -> list[Distribution]:
    """Return the distributions of these names, and their installed requirements. Raises NotInstalled."""
    parts: dict[str, Distribution] = {}
    pending = [(name, True) for name in names]
    while pending:
        name, needed = pending.pop()
        if (key := re.sub(r"[-_.]+", "-", name).lower()) in parts:
            continue
        try:
            parts[key] = distribution(name)
        except PackageNotFoundError as error:
            if needed:
                raise NotInstalled(_missing(name)) from error
            continue  # of another platform or Python
        pending += [(requirement, False) for requirement in _requirements(parts[key])]
    return list(parts.values())


def _requirements(part: Distribution) -> list[str]:
    plain = [text for text in part.requires or () if not re.search(r";.*\bextra\b", text)]
    return [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in plain]


def _missing(name: str) -> str:
    return f"{name} is not installed here: pip install '.[sink]' in the project's directory"


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print("usage: python -m log_shipper.spark_sink.platform.archive DIRECTORY [DISTRIBUTION ...]", file=sys.stderr)  # noqa: T201 - this module is a command
        return 2
    try:
        archive, script = write(Path(arguments[0]), arguments[1:])
    except (NotInstalled, OSError) as error:
        print(f"cannot write the archive: {error}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    print(f"spark-submit … --archives {archive}#{UNPACKED} {script} run -c sink.yml")  # noqa: T201 - as above
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
