"""`script/package --oci`: builds the container image of this tree, as an archive with an OCI layout."""

import argparse
import os
import tempfile
from pathlib import Path

from deploy.container import base, contents
from deploy.container.layout import Blobs, Image, pack, write_layout
from deploy.debian.__main__ import report, source_date
from deploy.debian.archive import architecture
from deploy.debian.contents import ROOT
from deploy.debian.errors import PackagingFailed
from log_shipper import VERSION


def main() -> int:
    parser = argparse.ArgumentParser("script/package --oci", description="Builds the container image of the shipper.")
    parser.add_argument("--output", type=Path, default=ROOT / "build", metavar="DIR", help="default: build")
    parser.add_argument("--mirror", default=base.MIRROR, metavar="URL", help=f"of Debian (default {base.MIRROR})")
    options = parser.parse_args()
    return report(options.output, [lambda: build(options.output, options.mirror)])


def build(output: Path, mirror: str) -> Path:
    """Build the image; return the path of the archive. Raises PackagingFailed, OSError."""
    if os.geteuid():
        raise PackagingFailed(
            "--oci needs root: files of the image belong to other users, and debootstrap calls chroot"
        )
    machine, epoch = architecture(), source_date()
    destination = output / f"{contents.NAME}_{VERSION}_{machine}.oci.tar"
    with tempfile.TemporaryDirectory(prefix="image-", dir=output) as directory:
        scratch = Path(directory)
        base.create(scratch / "base", contents.PACKAGES, mirror)
        contents.lay_out(scratch / "ours", scratch)
        layout = scratch / "layout"
        blobs = Blobs(layout, epoch)
        layers = [
            blobs.add_layer(scratch / "base", f"debootstrap --variant=minbase {base.SUITE}"),
            blobs.add_layer(scratch / "ours", f"kafka-log-shipper {VERSION}"),
        ]
        write_layout(layout, blobs, Image(contents.NAME, VERSION, machine, contents.START, layers), epoch)
        pack(layout, destination, epoch)
    return destination


if __name__ == "__main__":
    raise SystemExit(main())
