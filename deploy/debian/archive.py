"""The archive that dpkg installs: the control files (deb-control(5)), and dpkg-deb."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from textwrap import fill

from deploy.debian.contents import Package
from deploy.debian.environment import installed_size
from deploy.debian.errors import PackagingFailed

SCRIPTS = Path(__file__).parent / "scripts"
# Half a minute for the sink's 400 MB; the slowest level saves only a tenth more.
COMPRESSION = ("-Zzstd", "-z9")


def architecture() -> str:
    """Return Debian's name of this machine's architecture. Raises PackagingFailed."""
    if shutil.which("dpkg-deb") is None:
        raise PackagingFailed("dpkg-deb is not installed (Debian: apt-get install dpkg)")
    done = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write_archive(package: Package, version: str, stage: Path, destination: Path, epoch: int) -> None:
    """Write the package of all files below `stage`, none newer than `epoch`. Raises PackagingFailed."""
    files = sorted(path for path in stage.rglob("*") if path.is_file() and not path.is_symlink())
    size = installed_size(stage.rglob("*"))
    meta = stage / "DEBIAN"
    meta.mkdir(mode=0o755)
    (meta / "control").write_text(control(package, version, architecture(), size))
    (meta / "conffiles").write_text(f"{package.config}\n")
    (meta / "md5sums").write_text("".join(f"{_digest(path)}  {path.relative_to(stage)}\n" for path in files))
    for script in ("postinst", "prerm", "postrm"):
        (meta / script).write_text(maintainer_script(package, script))
        (meta / script).chmod(0o755)
    environ = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    command = ["dpkg-deb", "--root-owner-group", *COMPRESSION, "--build", str(stage), str(destination)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        raise PackagingFailed(f"dpkg-deb cannot write {destination}:\n{done.stderr.strip()}")


def control(package: Package, version: str, machine: str, size: int) -> str:
    """Return the control file; `size` is in KiB."""
    fields = {
        "Package": package.name,
        "Version": version,
        "Architecture": machine,
        "Maintainer": package.maintainer,
        "Installed-Size": str(size),
        "Depends": ", ".join(package.depends),
        "Recommends": ", ".join(("ca-certificates", *package.recommends)),
        "Conflicts": package.name.removeprefix("kafka-"),  # the name before 0.3.0, with the same files
        "Section": "admin",
        "Priority": "optional",
        "Description": f"{package.summary}\n{fill(package.description, 78, initial_indent=' ', subsequent_indent=' ')}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def maintainer_script(package: Package, name: str) -> str:
    """Return a maintainer script: postinst, prerm or postrm."""
    config = Path(package.config)
    values = {
        "NAME": package.name,
        "USER": package.user,
        "HOME": package.home,
        "STATE": package.state,
        "CONFIG": package.config,
        "CONFIG_DIRECTORY": str(config.parent),
        "UNIT": package.unit.name,
        "WRITTEN": " ".join(filter(None, (package.state, package.cache, f"/var/log/{package.user}"))),
    }
    text = (SCRIPTS / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _digest(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
