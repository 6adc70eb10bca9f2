"""The program in each image, and its start configuration: equal to `Containerfile`, which a test verifies."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.debian import environment
from deploy.debian.contents import SHIPPER, SINK, Package
from log_shipper import VERSION

HERE = Path(__file__).parent
USER = (1000, 0)
SECOND = 10**9  # nanoseconds
ENVIRONMENT = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
    "MALLOC_ARENA_MAX=2",
)


@dataclass(frozen=True, slots=True)
class Contents:
    """`system`: Debian packages. `files`: sources by path in the image; a path without a suffix is executable. `links`:
    targets by path. `writable`: directories of the image's user. `start`: the configuration of Containerfile's
    instructions."""

    package: Package
    system: tuple[str, ...]
    files: Mapping[str, Path]
    links: Mapping[str, str]
    writable: tuple[str, ...]
    start: dict[str, Any]

    @property
    def name(self) -> str:
        return self.package.name

    def lay_out(self, stage: Path, scratch: Path) -> None:
        """Lay out the program below `stage`. Raises PackagingFailed, OSError."""
        stage.mkdir()
        environment.create(self.package, stage, scratch)
        for inside, source in self.files.items():
            destination = _below(stage, inside)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination)
            destination.chmod(0o644 if destination.suffix else 0o755)
        for directory in self.writable:
            path = _below(stage, directory)
            path.mkdir(parents=True)
            path.chmod(0o775)
            os.chown(path, *USER)
        for link, target in self.links.items():
            path = _below(stage, link)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
        for path in stage.rglob("*"):  # independent of the builder's umask
            if path.is_dir() and not path.is_symlink() and path.stat().st_uid == 0:
                path.chmod(0o755)


def _below(stage: Path, inside: str) -> Path:
    return stage / inside.lstrip("/")


def _start(package: Package, program: str, directory: str, port: int, probe: tuple[str, ...]) -> dict[str, Any]:
    return {
        "User": "{}:{}".format(*USER),
        "ExposedPorts": {f"{port}/tcp": {}},
        "Env": [*ENVIRONMENT, *((f"SHIPPER_CACHE={package.cache}",) if package.cache else ())],
        "Entrypoint": [program],
        "Cmd": ["run", "-c", package.config],
        "WorkingDir": directory,
        "StopSignal": "SIGTERM",
        "Labels": {
            "org.opencontainers.image.title": package.name,
            "org.opencontainers.image.description": f"{package.summary[0].upper()}{package.summary[1:]}.",
            "org.opencontainers.image.version": VERSION,
            "org.opencontainers.image.licenses": "Apache-2.0",
        },
        # Not in the specification, but Docker and Podman read it.
        "Healthcheck": {
            "Test": ["CMD", *probe],
            "Interval": 30 * SECOND,
            "Timeout": 5 * SECOND,
            "StartPeriod": 30 * SECOND,
            "Retries": 4,
        },
    }


_FILEBEAT = "/usr/share/filebeat"  # the working directory, with filebeat.yml and data
_BASE = ("ca-certificates", "curl", "python3.11")
_SHIPPER = Contents(
    SHIPPER,
    system=_BASE,
    files={"/usr/bin/shipper-entrypoint": HERE / "entrypoint.sh", SHIPPER.config: HERE / "shipper.yml"},
    links={
        "/usr/bin/shipper": f"{SHIPPER.home}/bin/shipper",
        "/usr/bin/filebeat": "shipper",
        f"{_FILEBEAT}/data": SHIPPER.state,
    },
    writable=(SHIPPER.state, _FILEBEAT),
    start=_start(SHIPPER, "shipper-entrypoint", _FILEBEAT, 5066, ("shipper", "test", "health")),
)
_SINK = Contents(
    SINK,
    system=(*_BASE, "openjdk-17-jre-headless"),
    files={SINK.config: HERE / "sink.yml"},
    links={"/usr/bin/spark-sink": f"{SINK.home}/bin/spark-sink"},
    writable=(SINK.state, SINK.cache),
    start=_start(SINK, "spark-sink", SINK.state, 5067, ("curl", "-fsS", "-o", "/dev/null", "localhost:5067/health")),
)
IMAGES = {"shipper": _SHIPPER, "sink": _SINK}
