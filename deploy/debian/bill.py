"""The components of a package as a CycloneDX document (SBOM), by cyclonedx-bom."""

import subprocess
import sys
from pathlib import Path

from deploy.debian.errors import PackagingFailed

TOOL = "cyclonedx_py"


def write_bill(home: Path, destination: Path) -> None:
    """Write what is installed in the environment `home`. Raises PackagingFailed."""
    command = [sys.executable, "-m", TOOL, "environment", str(home / "bin" / "python"), "--output-reproducible"]
    command += ["--output-format", "JSON", "--output-file", str(destination)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackagingFailed(f"{TOOL} could not list the components:\n{done.stderr.strip()}")
