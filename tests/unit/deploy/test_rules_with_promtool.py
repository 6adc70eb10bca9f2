"""Prometheus' own tool checks the rules, and runs them against the series in deploy/prometheus/tests."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FILES = Path(__file__).parents[3] / "deploy" / "prometheus"
CACHE = Path(os.environ.get("SHIPPER_CACHE", Path(__file__).parents[3] / ".cache"))
PROMTOOL = shutil.which("promtool") or str(CACHE / "tools" / "usr" / "bin" / "promtool")

pytestmark = [
    pytest.mark.slow("needs promtool, which script/tools fetches"),
    pytest.mark.skipif(not Path(PROMTOOL).exists(), reason="no promtool: run script/tools"),
]


def promtool(*arguments: str) -> str:
    """Return what it prints; fail with that if it ends with an error."""
    ended = subprocess.run([PROMTOOL, *arguments], cwd=FILES / "tests", capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("file", sorted(FILES.glob("*.yml")), ids=lambda file: str(file.name))
def test_a_file_of_rules_is_accepted(file: Path) -> None:
    assert "SUCCESS" in promtool("check", "rules", str(file))


@pytest.mark.parametrize("file", sorted((FILES / "tests").glob("*.yml")), ids=lambda file: str(file.name))
def test_each_alert_fires_in_its_incident_and_not_beside_it_and_ends_afterwards(file: Path) -> None:
    assert "SUCCESS" in promtool("test", "rules", file.name)
