"""The components of a package as a CycloneDX document (SBOM), by cyclonedx-bom."""

import json
import subprocess
import sys
from pathlib import Path

from deploy.debian.contents import ROOT
from deploy.debian.errors import PackagingFailed

TOOL = "cyclonedx_py"


def write_bill(home: Path, version: str, destination: Path) -> None:
    """Write the components of the environment `home`, with this project as the root. Raises PackagingFailed."""
    command = [sys.executable, "-m", TOOL, "environment", str(home / "bin" / "python"), "--output-reproducible"]
    command += [
        "--pyproject",
        str(ROOT / "pyproject.toml"),
        "--output-format",
        "JSON",
        "--output-file",
        str(destination),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackagingFailed(f"{TOOL} cannot list the components:\n{done.stderr.strip()}")
    bill = json.loads(destination.read_text())
    bill["metadata"]["component"]["version"] = version  # dynamic in pyproject.toml
    destination.write_text(json.dumps(bill, indent=2) + "\n")
