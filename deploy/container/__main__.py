"""`script/package --oci`: builds the container images of this tree as archives with an OCI layout."""

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path

from deploy.container import base
from deploy.container.contents import IMAGES, USER, Contents
from deploy.container.layout import Blobs, Image, pack, write_layout
from deploy.debian.__main__ import report, source_date
from deploy.debian.archive import architecture
from deploy.debian.contents import ROOT
from deploy.debian.errors import PackagingFailed
from log_shipper import VERSION


def main() -> int:
    parser = argparse.ArgumentParser("script/package --oci", description="Build the container images of this tree.")
    parser.add_argument("--only", choices=sorted(IMAGES), help="build one of the two images (default: both)")
    parser.add_argument("--output", type=Path, default=ROOT / "build", metavar="DIR", help="default: build")
    parser.add_argument("--mirror", default=base.MIRROR, metavar="URL", help=f"Debian mirror (default: {base.MIRROR})")
    options = parser.parse_args()
    names = [options.only] if options.only else sorted(IMAGES)
    return report(options.output, [partial(build, IMAGES[name], options.output, options.mirror) for name in names])


def build(contents: Contents, output: Path, mirror: str) -> Path:
    """Build an image; return the path of the archive. Raises PackagingFailed, OSError."""
    if os.geteuid():
        raise PackagingFailed("--oci needs root: the image has files of other users, and debootstrap calls chroot")
    machine, epoch = architecture(), source_date()
    destination = output / f"{contents.name}_{VERSION}_{machine}.oci.tar"
    with tempfile.TemporaryDirectory(prefix="image-", dir=output) as directory:
        scratch = Path(directory)
        base.create(scratch / "base", contents.system, mirror)
        base.add_user(scratch / "base", contents.package.user, *USER, contents.package.state)
        contents.lay_out(scratch / "program", scratch)
        layout = scratch / "layout"
        blobs = Blobs(layout, epoch)
        layers = [
            blobs.add_layer(scratch / "base", f"debootstrap --variant=minbase {base.SUITE}"),
            blobs.add_layer(scratch / "program", f"{contents.name} {VERSION}"),
        ]
        write_layout(layout, blobs, Image(contents.name, VERSION, machine, contents.start, layers), epoch)
        pack(layout, destination, epoch)
    return destination


if __name__ == "__main__":
    raise SystemExit(main())
