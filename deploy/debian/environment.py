"""The Python environment of a package: the system's interpreter, and everything else below /opt.

It has the layout of `python3 -m venv`, with the paths of the target machine. pip and the compiler run in it, so wheels
and byte code are those of Debian's Python, whichever Python runs this.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from deploy.debian.contents import PACKAGES, PYTHON, ROOT, Package
from deploy.debian.errors import PackagingFailed

LONG_PATH = b"'''exec' "
SPARK_EXAMPLES = ("pyspark/examples", "pyspark/data")  # 10 MB, unused


def create(package: Package, stage: Path, scratch: Path) -> Path:
    """Create the environment below `stage`, and return its directory. Raises PackagingFailed."""
    if not PYTHON.exists():
        raise PackagingFailed(
            f"{PYTHON} is not installed. The packages are for Debian 12, and must be built there (apt-get install "
            f"{PYTHON.name})."
        )
    home = stage / package.home.lstrip("/")
    _lay_out(home)
    _install(package, home, copy_source(scratch / "source"))
    _forget_this_machine(package, home, stage)
    _compile(home, stage)
    return home


def _lay_out(home: Path) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "lib" / PYTHON.name / "site-packages").mkdir(parents=True)
    (home / "bin" / PYTHON.name).symlink_to(PYTHON)
    for name in ("python3", "python"):
        (home / "bin" / name).symlink_to(PYTHON.name)
    (home / "pyvenv.cfg").write_text(f"home = {PYTHON.parent}\ninclude-system-site-packages = false\n")


def copy_source(directory: Path) -> Path:
    """Return a copy of the wheel's sources: setuptools writes into its tree, and includes files of earlier builds."""
    directory.mkdir()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    described = project["project"]
    for name in ("pyproject.toml", "setup.py", described["readme"], *described["license-files"]):
        shutil.copy(ROOT / name, directory)
    for name in project["tool"]["setuptools"]["package-dir"].values():
        shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    return directory


def _install(package: Package, home: Path, source: Path) -> None:
    locks = [argument for lock in package.locks for argument in ("-r", str(lock))]
    _pip(home, "--require-hashes", *locks)
    _pip(home, "--no-deps", str(source))
    if package.extras:
        _pip(home, f"{source}[{','.join(package.extras)}]")


def _pip(home: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--no-compile", *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise PackagingFailed(f"pip cannot install the dependencies (often the network):\n{done.stderr.strip()}")


def _forget_this_machine(package: Package, home: Path, stage: Path) -> None:
    """Remove paths of this machine (in the first lines of scripts, and of the source), and unused files."""
    for script in (home / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            first, _, rest = script.read_bytes().partition(b"\n")
            if first == b"#!/bin/sh" and rest.startswith(LONG_PATH):  # pip's form if the path is too long
                first, rest = b"#!python", rest.split(b"\n", 2)[2]
            if first.startswith(b"#!") and b"python" in first and b"env " not in first:
                python = f"/{(home / 'bin' / 'python').relative_to(stage)}"
                script.write_bytes(b"#!" + python.encode() + b"\n" + rest)
    for other in {known.command for known in PACKAGES.values()} - {package.command}:
        (home / "bin" / other).unlink()  # it needs the other package's libraries
    for info in home.glob("lib/*/site-packages/*.dist-info"):
        (info / "direct_url.json").unlink(missing_ok=True)
        record = info / "RECORD"
        kept = [line for line in record.read_text().splitlines(keepends=True) if _is_true(line)]
        record.write_text("".join(kept))
    for examples in SPARK_EXAMPLES:
        for directory in home.glob(f"lib/*/site-packages/{examples}"):
            shutil.rmtree(directory)


def _is_true(line: str) -> bool:
    """Return True if a line of RECORD describes a file as installed by pip."""
    return not line.startswith("../../../bin/") and "direct_url.json" not in line


def _compile(home: Path, stage: Path) -> None:
    """Compile all modules: the service cannot write below /opt, and would compile them at each start. With hashes, not
    times, for reproducible builds."""
    mode = ["--invalidation-mode", "unchecked-hash", "-q", "-s", str(stage), "-p", "/", "-j", str(os.cpu_count() or 1)]
    # Fails for templates and error tests of some packages, which are not valid Python.
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "compileall", *mode, str(home / "lib")], capture_output=True, check=False)


def installed_size(paths: Iterable[Path]) -> int:
    """Return the size of files in KiB, each rounded up, as dpkg counts it."""
    return sum(-(-path.lstat().st_size // 1024) if path.is_file() else 1 for path in paths)
