"""The base system: a minimal Debian with Python, by debootstrap, without files that containers do not use."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.debian.errors import PackagingFailed

SUITE = "bookworm"
SHELL = "/usr/sbin/nologin"
MIRROR = "http://deb.debian.org/debian"
# Caches, logs, documentation except licences, and traces of this machine.
EMPTIED = ("var/cache", "var/lib/apt/lists", "var/log", "tmp", "usr/share/man", "usr/share/info", "usr/share/locale")
REMOVED = (
    "etc/resolv.conf",
    "etc/hostname",
    "etc/machine-id",
    "etc/passwd-",
    "etc/group-",
    "etc/shadow-",
    "etc/gshadow-",
)


def create(tree: Path, packages: Sequence[str], mirror: str) -> None:
    """Create the system below `tree`. Raises PackagingFailed, OSError."""
    if shutil.which("debootstrap") is None:
        raise PackagingFailed("debootstrap is not installed (Debian: apt-get install debootstrap)")
    options = ["--variant=minbase", f"--include={','.join(packages)}"]
    # In its own mount namespace: if it is killed, /proc must not stay mounted below a directory that will be removed.
    command = ["unshare", "--mount", "debootstrap", *options, SUITE, str(tree), mirror]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise PackagingFailed(f"debootstrap cannot create a system from {mirror} (--mirror):\n{last}")
    _slim(tree)


def add_user(tree: Path, name: str, uid: int, gid: int, home: str) -> None:
    """Add a named user to the image: Java does not start as a user without a name."""
    with (tree / "etc/passwd").open("a") as file:
        file.write(f"{name}:x:{uid}:{gid}::{home}:{SHELL}\n")


def _slim(tree: Path) -> None:
    for name in EMPTIED:
        for path in (tree / name).iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in sorted((tree / "usr/share/doc").rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.name != "copyright":
            path.unlink()
    for name in REMOVED:
        (tree / name).unlink(missing_ok=True)
    for path in tree.rglob("__pycache__"):
        shutil.rmtree(path)
    for path in (tree / "dev").iterdir():  # created by the runtime
        path.unlink() if not path.is_dir() or path.is_symlink() else shutil.rmtree(path)
    _write_sources(tree)
    shadow = tree / "etc/shadow"  # has the creation date of each account
    shadow.write_text(re.sub(r"^([^:]*:[^:]*:)\d*", r"\1", shadow.read_text(), flags=re.MULTILINE))


def _write_sources(tree: Path) -> None:
    """Write Debian's public mirror: that of this machine may be private."""
    (tree / "etc/apt/sources.list").write_text(f"deb {MIRROR} {SUITE} main\n")
