"""`script/package`: builds the Debian packages, each with a list of its components."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from deploy.debian.archive import architecture, write_archive
from deploy.debian.bill import write_bill
from deploy.debian.contents import PACKAGES, ROOT, Package
from deploy.debian.errors import PackagingFailed
from deploy.debian.policy import MAINTAINER, check_maintainer
from deploy.debian.tree import lay_out
from log_shipper import VERSION


def main() -> int:
    parser = argparse.ArgumentParser("script/package", description="Build the Debian packages of this tree.")
    parser.add_argument("--only", choices=sorted(PACKAGES), help="build one of the two packages (default: both)")
    parser.add_argument("--output", type=Path, default=ROOT / "build", metavar="DIR", help="default: build")
    parser.add_argument(
        "--extras", default="", metavar="NAMES", help="extras of pyproject.toml to include, such as aws-msk-iam"
    )
    parser.add_argument(
        "--maintainer", default=MAINTAINER, metavar="NAME", help="publisher, in the form 'Name <user@host.domain>'"
    )
    options = parser.parse_args()
    extras = tuple(filter(None, options.extras.split(",")))
    names = [options.only] if options.only else sorted(PACKAGES)
    packages = [
        replace(PACKAGES[name], extras=(*PACKAGES[name].extras, *extras), maintainer=options.maintainer)
        for name in names
    ]
    return report(options.output, [partial(build, package, options.output) for package in packages])


def report(output: Path, builds: Iterable[Callable[[], Path]]) -> int:
    """Create the directory, build the archives, print their paths or an error, and return the exit code."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        for build_next in builds:
            print(build_next())  # noqa: T201 - the output of the command
    except PackagingFailed as error:
        print(f"package: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except OSError as error:
        print(f"package: {error.filename or output}: {error.strerror or error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def build(package: Package, output: Path) -> Path:
    """Build a package and the list of its components; return the package's path. Raises PackagingFailed, OSError."""
    check_maintainer(package.maintainer)
    destination = output / f"{package.name}_{VERSION}_{architecture()}.deb"
    with tempfile.TemporaryDirectory(prefix="package-", dir=output) as scratch:
        stage = Path(scratch) / "stage"
        epoch = source_date()
        home = lay_out(package, VERSION, stage, Path(scratch), epoch)
        write_bill(home, VERSION, destination.with_suffix(".cdx.json"))
        write_archive(package, VERSION, stage, destination, epoch)
    return destination


def source_date() -> int:
    """Return the maximum time of files in a package, for reproducible builds: SOURCE_DATE_EPOCH, or the last commit's
    time. Raises PackagingFailed."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        if not given.isdecimal():
            raise PackagingFailed(f"SOURCE_DATE_EPOCH: {given!r} is not a number of seconds since 1970")
        return int(given)
    log = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    try:
        return int(subprocess.run(log, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):  # not a repository
        return int(time.time())


if __name__ == "__main__":
    raise SystemExit(main())
