"""A Debian system of its own, as a directory: to run programs in (chroot), or to boot (systemd-nspawn)."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from deploy.debian.contents import PYTHON
from log_shipper.spark_sink.platform.cache import cache_directory
from tests.e2e.running import await_true

SUITE = "bookworm"
# Beside the smallest system: what the package depends on, and what boots it.
INCLUDED = "python3.11,systemd-sysv"
A_WEEK = 7 * 24 * 3600.0
BOOT_SECONDS = 60.0


def require(*programs: str) -> None:
    """Skip the test unless it runs as root and these programs are there."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(
            f"not installed: {', '.join(missing)} (apt-get install debootstrap systemd-container skopeo umoci runc)"
        )
    if not PYTHON.exists():
        pytest.skip(f"packages are built with Debian's {PYTHON}")


def mirror() -> str:
    """Return where this machine's apt gets its packages; skips the test on one that is no Debian of this release."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        address, _, release = line.partition(" ")
        if release == SUITE:
            return address
    pytest.skip(f"apt of this machine knows no mirror of Debian {SUITE}")


def base_system(suite: str, included: str) -> Path:
    """Return an archive of a new system, not older than a week: debootstrap takes one or two minutes."""
    archive = cache_directory().absolute() / "debian" / f"{suite}-{included.replace(',', '-')}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < A_WEEK:
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    tree = archive.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    options = ["--variant=minbase", f"--include={included}"]
    done = subprocess.run(["debootstrap", *options, suite, tree, mirror()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    partial = archive.with_suffix(".partial")
    subprocess.run(["tar", "-C", tree, "--numeric-owner", "-cf", partial, "."], check=True)
    partial.rename(archive)
    shutil.rmtree(tree)
    return archive


class System:
    """A system in a directory that does not run; `run` starts single programs in it."""

    def __init__(self, root: Path, suite: str = SUITE, included: str = INCLUDED) -> None:
        self.root = root
        root.mkdir()
        subprocess.run(["tar", "-C", root, "--numeric-owner", "-xf", base_system(suite, included)], check=True)

    def path(self, inside: str) -> Path:
        return self.root / inside.lstrip("/")

    def command(self, *words: str) -> list[str]:
        """Return the command that runs `words` in the system, with a /proc that ends with it."""
        return ["unshare", "--mount", "--mount-proc", f"--root={self.root}", *words]

    def run(self, *words: str) -> str:
        """Return what the command printed; it must succeed."""
        return checked(self.command(*words))

    def install(self, package: Path) -> str:
        shutil.copy(package, self.path("/mnt"))
        return self.run("dpkg", "-i", f"/mnt/{package.name}")

    def files(self) -> set[str]:
        """Return the paths of everything but dpkg's own notes, logs, and copies of the lists of users."""
        ignored = re.compile(r"/(mnt|run|tmp|proc|var/lib/dpkg|var/log|var/cache/debconf|var/lib/systemd)/|/etc/\w+-$")
        names = (f"/{path.relative_to(self.root)}" for path in self.root.rglob("*"))
        return {name for name in names if not ignored.search(name)}


def checked(command: Sequence[str]) -> str:
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Machine:
    """The same system, booted: systemd is its first process. It shares the network with this machine.

    Skips the test where it does not boot, with what it printed.
    """

    def __init__(self, system: System, output: Path) -> None:
        self.system = system
        options = ["--boot", "--register=no", "--keep-unit", "--console=pipe", "--quiet", f"--directory={system.root}"]
        with output.open("wb") as log:
            self._process = subprocess.Popen(
                ["systemd-nspawn", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._leader = 0
        try:
            self._await_boot(output)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _await_boot(self, output: Path) -> None:
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            if children:
                self._leader = int(children[0])
                done = subprocess.run(self.command("systemctl", "is-system-running"), capture_output=True, check=False)
                if done.stdout.strip() in (b"running", b"degraded"):
                    return
            time.sleep(0.2)
        pytest.skip(f"no Debian boots here: systemd-nspawn printed {output.read_text(errors='replace')[-500:]!r}")

    def command(self, *words: str) -> list[str]:
        return ["nsenter", f"--target={self._leader}", "--all", "--root", "--wd", "--", *words]

    def run(self, *words: str) -> str:
        return checked(self.command(*words))

    def install(self, package: Path) -> str:
        shutil.copy(package, self.system.path("/mnt"))
        return self.run("dpkg", "-i", f"/mnt/{package.name}")

    def show(self, unit: str, name: str) -> str:
        return self.run("systemctl", "show", "--value", "-p", name, unit).strip()

    def await_state(self, unit: str, name: str, holds: Callable[[str], bool], timeout: float = 60.0) -> str:
        """Return a property of the unit as soon as it is as wanted."""
        await_true(lambda: holds(self.show(unit, name)), f"{name} of {unit}: {self.journal(unit)}", timeout)
        return self.show(unit, name)

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", unit)

    def signal(self, unit: str, number: signal.Signals) -> None:
        """Send a signal to the main process of a service."""
        self.run("sh", "-c", f"kill -{number.value} {self.show(unit, 'MainPID')}")

    def stop(self) -> None:
        """End it as a power failure would."""
        if self._leader:
            os.kill(self._leader, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
