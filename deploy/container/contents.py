"""What is ours in the image, and how it is started: the same as in `Containerfile`, which a test compares."""

import os
import shutil
from pathlib import Path
from typing import Any

from deploy.debian import environment
from deploy.debian.contents import SHIPPER
from log_shipper import VERSION

HERE = Path(__file__).parent
NAME = "kafka-log-shipper"
DATA = "/var/lib/shipper"
CONFIG = "/etc/shipper/shipper.yml"
HOME = "/usr/share/filebeat"  # the working directory: a filebeat.yml is found there, and data below it
USER = (1000, 0)
PACKAGES = ("ca-certificates", "curl", "python3.11")
SECOND = 10**9  # nanoseconds

# What Containerfile has as instructions.
START: dict[str, Any] = {
    "User": "{}:{}".format(*USER),
    "ExposedPorts": {"5066/tcp": {}},
    "Env": [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
        "MALLOC_ARENA_MAX=2",
    ],
    "Entrypoint": ["shipper-entrypoint"],
    "Cmd": ["run", "-c", CONFIG],
    "WorkingDir": HOME,
    "StopSignal": "SIGTERM",
    "Labels": {
        "org.opencontainers.image.title": NAME,
        "org.opencontainers.image.description": "Ships log files to Kafka with acknowledged positions.",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "Apache-2.0",
    },
    # Not in the specification: Docker and Podman read it all the same.
    "Healthcheck": {
        "Test": ["CMD", "shipper", "test", "health"],
        "Interval": 30 * SECOND,
        "Timeout": 5 * SECOND,
        "StartPeriod": 30 * SECOND,
        "Retries": 4,
    },
}


def lay_out(stage: Path, scratch: Path) -> None:
    """Lay out what is ours below `stage`. Raises PackagingFailed, OSError."""
    stage.mkdir()
    environment.create(SHIPPER, stage, scratch)
    _copy(HERE / "entrypoint.sh", stage / "usr/bin/shipper-entrypoint", 0o755)
    _copy(HERE / "shipper.yml", stage / CONFIG.lstrip("/"), 0o644)
    (stage / "usr/bin/shipper").symlink_to(f"{SHIPPER.home}/bin/{SHIPPER.command}")
    (stage / "usr/bin/filebeat").symlink_to("shipper")
    for directory in (DATA, HOME):
        path = stage / directory.lstrip("/")
        path.mkdir(parents=True)
        path.chmod(0o775)
        os.chown(path, *USER)
    (stage / HOME.lstrip("/") / "data").symlink_to(DATA)
    for path in stage.rglob("*"):  # whatever the umask of who builds it
        if path.is_dir() and not path.is_symlink() and path.stat().st_uid == 0:
            path.chmod(0o755)


def _copy(source: Path, destination: Path, mode: int) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, destination)
    destination.chmod(mode)
