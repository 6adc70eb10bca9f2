"""Writes an image as an OCI layout in a tar archive (https://github.com/opencontainers/image-spec, version 1).

Builds are reproducible: members are sorted, and no member is newer than `epoch`.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

MEDIA = "application/vnd.oci.image"
COMPRESSION = 6


@dataclass(frozen=True, slots=True)
class Layer:
    """`digest`: of the compressed blob of `size` bytes; `diff_id`: digest of the uncompressed archive."""

    digest: str
    size: int
    diff_id: str
    created_by: str


@dataclass(frozen=True, slots=True)
class Image:
    """`config`: user, environment and command, as in OCI's config; `architecture`: by Go's name, such as amd64."""

    name: str
    version: str
    architecture: str
    config: dict[str, Any]
    layers: Sequence[Layer]


class _Hashing(io.RawIOBase):
    """Hashes and counts the bytes written through it."""

    def __init__(self, below: Any) -> None:
        self._below = below
        self._hash = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self.size += len(data)
        self._below.write(data)
        return len(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


class Blobs:
    """The blobs of a layout, below `directory`."""

    def __init__(self, directory: Path, epoch: int) -> None:
        self._directory = directory / "blobs" / "sha256"
        self._directory.mkdir(parents=True)
        self._epoch = epoch

    def add_layer(self, tree: Path, created_by: str) -> Layer:
        """Add all files below `tree`, with their owners, as a layer. Raises OSError."""
        partial = self._directory / "partial"
        with partial.open("wb") as file:
            compressed = _Hashing(file)
            with gzip.GzipFile("", "wb", COMPRESSION, cast(BinaryIO, compressed), mtime=0) as packed:
                plain = _Hashing(packed)
                with tarfile.open(fileobj=cast(BinaryIO, plain), mode="w|", format=tarfile.PAX_FORMAT) as archive:
                    for path in sorted(tree.rglob("*")):
                        self._add_member(archive, path, str(path.relative_to(tree)))
        partial.rename(self._directory / compressed.digest.partition(":")[2])
        return Layer(compressed.digest, compressed.size, plain.digest, created_by)

    def _add_member(self, archive: tarfile.TarFile, path: Path, name: str) -> None:
        member = archive.gettarinfo(path, name)
        member.uname = member.gname = ""
        member.mtime = min(int(member.mtime), self._epoch)
        if member.isreg():
            with path.open("rb") as content:
                archive.addfile(member, content)
        else:
            archive.addfile(member)

    def add_json(self, value: Any, kind: str) -> dict[str, Any]:
        """Add a document, and return its descriptor. Raises OSError."""
        data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        (self._directory / digest).write_bytes(data)
        return {"mediaType": f"{MEDIA}.{kind}.v1+json", "digest": f"sha256:{digest}", "size": len(data)}


def write_layout(directory: Path, blobs: Blobs, image: Image, epoch: int) -> None:
    """Write the documents of the layout with these blobs. Raises OSError."""
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "created": created,
        "architecture": image.architecture,
        "os": "linux",
        "config": image.config,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in image.layers]},
        "history": [{"created": created, "created_by": layer.created_by} for layer in image.layers],
    }
    layers = [
        {"mediaType": f"{MEDIA}.layer.v1.tar+gzip", "digest": layer.digest, "size": layer.size}
        for layer in image.layers
    ]
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": blobs.add_json(config, "config"),
        "layers": layers,
    }
    named = blobs.add_json(manifest, "manifest") | {
        "annotations": {
            "org.opencontainers.image.ref.name": image.version,
            "io.containerd.image.name": f"docker.io/library/{image.name}:{image.version}",
        }
    }
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [named]}
    (directory / "index.json").write_text(json.dumps(index, sort_keys=True))
    (directory / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))


def pack(directory: Path, destination: Path, epoch: int) -> None:
    """Write the layout as one archive, which replaces `destination` once complete. Raises OSError."""
    partial = destination.with_name(f"{destination.name}.partial")
    with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(directory.rglob("*")):
            member = archive.gettarinfo(path, str(path.relative_to(directory)))
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = epoch
            member.mode = 0o755 if member.isdir() else 0o644
            with path.open("rb") if member.isreg() else io.BytesIO() as content:
                archive.addfile(member, content)
    os.replace(partial, destination)
