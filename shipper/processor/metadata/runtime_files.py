"""Container metadata by id, from the files of container runtimes on the host.

Docker keeps `config.v2.json` beside the log; containerd an OCI `config.json` while the container runs. A file is
checked every few seconds at most, and read when it has changed. Metadata is kept until the container has not logged for
a while: its last lines are read after its files were deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from log_shipper.config.yaml.files import read_plain
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats.json_documents import object_of

CHECK_INTERVAL = 5.0  # seconds
FULL_ID = re.compile(r"[0-9a-f]{64}")
SHORT_ID = re.compile(r"[0-9a-f]{12,64}")
DOCKER = "var/lib/docker/containers"
CONTAINERD = (
    "run/containerd/io.containerd.runtime.v2.task/k8s.io",
    "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io",
)


@dataclass(frozen=True, slots=True)
class RuntimeContainer:
    """`labels`: Docker's labels, or annotations of the OCI bundle; `name` has no leading slash."""

    id: str
    name: str
    image: str
    runtime: str
    labels: dict[str, str]


@dataclass(slots=True)
class _Remembered:
    container: RuntimeContainer | None
    mark: tuple[int, int, int] | None
    looked_at: float
    used_at: float


class RuntimeFiles:
    def __init__(self, root: Path, clock: Clock, cleanup: float) -> None:
        self._root = root
        self._clock = clock
        self._cleanup = cleanup
        self._known: dict[str, _Remembered] = {}

    def container(self, identity: str, beside: str = "") -> RuntimeContainer | None:
        """Return the metadata of a container, the same object until something changes; `beside`: the path of its
        log."""
        now = self._clock.monotonic()
        known = self._known.get(identity)
        if known is None:
            self._sweep(now)
            known = self._known[identity] = _Remembered(None, None, float("-inf"), now)
        if now - known.looked_at >= CHECK_INTERVAL:
            known.looked_at = now
            self._look(known, identity, beside, now)
        known.used_at = now
        return known.container

    def _look(self, known: _Remembered, identity: str, beside: str, now: float) -> None:
        for path, parse in self._places(identity, beside):
            try:
                status = path.stat()
                mark = (status.st_ino, status.st_mtime_ns, status.st_size)
                if mark == known.mark:
                    return
                container = parse(path.parent.name, orjson.loads(read_plain(path)))
            except (OSError, ValueError):
                continue  # missing or being written
            known.mark = mark
            if container != known.container:
                known.container = container
            return
        if now - known.used_at > self._cleanup:
            known.container = known.mark = None

    def _places(self, identity: str, beside: str) -> list[tuple[Path, Callable[[str, Any], RuntimeContainer]]]:
        containers = self._root / DOCKER
        places: list[tuple[Path, Callable[[str, Any], RuntimeContainer]]] = []
        if len(identity) < 64:
            places += [(path / "config.v2.json", _docker) for path in sorted(containers.glob(f"{identity}*"))[:1]]
        else:
            places.append((containers / identity / "config.v2.json", _docker))
            places += [(self._root / bundles / identity / "config.json", _containerd) for bundles in CONTAINERD]
        # Last, because the directory of a log may belong to another user, who could forge labels.
        directory = os.path.dirname(beside)
        if os.path.basename(directory).startswith(identity):
            places.append((Path(directory) / "config.v2.json", _docker))
        return places

    def _sweep(self, now: float) -> None:
        """Delete unused entries: containers are created and deleted for months."""
        unused = [identity for identity, known in self._known.items() if now - known.used_at > self._cleanup]
        for identity in unused:
            del self._known[identity]


def _docker(identity: str, document: Any) -> RuntimeContainer:
    document = object_of(document)
    config = object_of(document.get("Config"))
    labels = {str(name): str(value) for name, value in object_of(config.get("Labels")).items()}
    name = str(document.get("Name") or "").removeprefix("/")
    return RuntimeContainer(str(document.get("ID") or identity), name, str(config.get("Image") or ""), "docker", labels)


def _containerd(identity: str, document: Any) -> RuntimeContainer:
    notes = {str(name): str(value) for name, value in object_of(object_of(document).get("annotations")).items()}
    name = notes.get("io.kubernetes.cri.container-name", "")
    return RuntimeContainer(identity, name, notes.get("io.kubernetes.cri.image-name", ""), "containerd", notes)
