"""Containers of the images, run by runc as Kubernetes would: with the manifest's arguments, environment and mounts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from log_shipper import VERSION
from tests.e2e.debian import mirror, require
from tests.e2e.running import REPOSITORY


def built_image(name: str, directory: Path) -> Path:
    """Return the archive of the image of shipper or sink, which takes some minutes to build; SHIPPER_IMAGE or
    SINK_IMAGE may name one that exists. Skips the test where that is not possible."""
    require("debootstrap", "dpkg-deb", "skopeo", "umoci", "runc")
    if given := os.environ.get(f"{name.upper()}_IMAGE"):
        return Path(given)
    options = ["--only", name, "--output", str(directory), "--mirror", mirror()]
    command = [sys.executable, "-m", "deploy.container", *options]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def unpacked(archive: Path, directory: Path) -> Path:
    """Return the directory of a bundle: the file system of the image, and how it is run."""
    layout, bundle = directory / "layout", directory / "bundle"
    subprocess.run(["skopeo", "copy", "-q", f"oci-archive:{archive}", f"oci:{layout}:{VERSION}"], check=True)
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:{VERSION}", str(bundle)], check=True, capture_output=True)
    return bundle


@dataclass(frozen=True, slots=True)
class Mount:
    source: Path
    inside: str
    read_only: bool = True

    @property
    def entry(self) -> dict[str, Any]:
        options = ["rbind", "ro" if self.read_only else "rw"]
        return {"destination": self.inside, "type": "bind", "source": str(self.source), "options": options}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a manifest has: `args` replace the image's own; `user` is that of the image if it is None. `shares_network`:
    with this machine; otherwise nothing but the container itself is reached."""

    args: Sequence[str] = ()
    environ: Mapping[str, str] | None = None
    mounts: Sequence[Mount] = ()
    user: int | None = None
    shares_network: bool = False


class Container:
    """It runs from the start to the end of the block. Its root file system is read-only."""

    def __init__(self, bundle: Path, directory: Path, spec: Spec) -> None:
        self._name = f"shipper-test-{os.getpid()}-{time.monotonic_ns()}"
        self._bundle = directory / self._name
        self._bundle.mkdir()
        settings = json.loads((bundle / "config.json").read_text())
        self._hosts = self._bundle / "hosts"  # every engine makes one
        self._hosts.write_text(f"127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {settings['hostname']}\n")
        self._configure(settings, spec, bundle / "rootfs")
        (self._bundle / "config.json").write_text(json.dumps(settings))
        self._log = self._bundle / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def _configure(self, settings: dict[str, Any], spec: Spec, root: Path) -> None:
        process = settings["process"]
        process["terminal"] = False
        if spec.args:
            process["args"] = [process["args"][0], *spec.args]
        process["env"] += [f"{name}={value}" for name, value in (spec.environ or {}).items()]
        if spec.user is not None:
            process["user"]["uid"] = spec.user
        for rights in ("bounding", "effective", "permitted", "inheritable", "ambient"):
            process["capabilities"][rights] = []
        process["noNewPrivileges"] = True
        settings["root"] = {"path": str(root), "readonly": True}
        settings["mounts"] += [mount.entry for mount in (Mount(self._hosts, "/etc/hosts"), *spec.mounts)]
        if spec.shares_network:
            spaces = settings["linux"]["namespaces"]
            settings["linux"]["namespaces"] = [space for space in spaces if space["type"] != "network"]

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            command = ["runc", "run", "--bundle", str(self._bundle), self._name]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            with suppress(subprocess.CalledProcessError):
                self._runc("kill", self._name, "KILL")
            self.process.wait()
        subprocess.run(["runc", "delete", "--force", self._name], capture_output=True, check=False)

    def _runc(self, *words: str) -> None:
        subprocess.run(["runc", *words], capture_output=True, check=True)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def exec(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container, as a probe does."""
        return subprocess.run(["runc", "exec", self._name, *words], capture_output=True, text=True, check=False)

    def memory(self) -> int:
        """Return the bytes that its processes have to themselves, and their share of what they have together."""
        lines = self.exec("sh", "-c", "cat /proc/[0-9]*/smaps_rollup").stdout.splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.terminate()
        return self.wait()

    def pause(self) -> None:
        self._runc("kill", self._name, signal.SIGSTOP.name)

    def resume(self) -> None:
        self._runc("kill", self._name, signal.SIGCONT.name)

    def terminate(self) -> None:
        self._runc("kill", self._name, signal.SIGTERM.name)

    def wait(self) -> int:
        return self.process.wait(60)


def skip_where_nothing_runs(bundle: Path, directory: Path) -> None:
    """Skip the test on a machine on which runc starts nothing (a container without the rights for it)."""
    with Container(bundle, directory, Spec(args=("version",))) as container:
        code = container.wait()
    if code:
        pytest.skip(f"runc runs nothing here: {container.log[-500:]}")
    shutil.rmtree(directory, ignore_errors=True)
