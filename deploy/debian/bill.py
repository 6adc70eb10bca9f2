"""The components of a package as a CycloneDX document (SBOM), by cyclonedx-bom."""

import json
import subprocess
import sys
from pathlib import Path

from deploy.debian.contents import ROOT
from deploy.debian.errors import PackagingFailed

TOOL = "cyclonedx_py"


def write_bill(home: Path, version: str, destination: Path) -> None:
    """Write what is installed in the environment `home`, of which this project is the root. Raises PackagingFailed."""
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
        raise PackagingFailed(f"{TOOL} could not list the components:\n{done.stderr.strip()}")
    bill = json.loads(destination.read_text())
    bill["metadata"]["component"]["version"] = version  # pyproject.toml only names where it is
    destination.write_text(json.dumps(bill, indent=2) + "\n")
