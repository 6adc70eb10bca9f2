"""The unit agrees with the code, with docs/guides/shipper.md, and with systemd where there is one."""

import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from log_shipper.config.text.units import parse_duration
from log_shipper.shipper.agent.service import EXTENSION, START_PATIENCE, STATUS_INTERVAL
from log_shipper.shipper.agent.signals import Signals
from log_shipper.shipper.cli import commands as cli
from log_shipper.shipper.cli.run import run
from log_shipper.shipper.options.model import ShipperConfig
from tests.unit.deploy.units import exposure, settings

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "deploy" / "systemd" / "shipper.service"


SETTINGS = settings(UNIT)
NEEDS_SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.fixture
def page() -> str:
    return (ROOT / "docs" / "guides" / "shipper.md").read_text()


def test_the_command_is_one_that_the_shipper_takes() -> None:
    _, *arguments = shlex.split(SETTINGS["ExecStart"])
    options = cli.parse(arguments)
    assert options.command is run
    assert not options.once
    assert options.configs == [Path("/etc/shipper/shipper.yml")]
    assert options.data == Path("/var/lib") / SETTINGS["StateDirectory"], "the one place where it may write"


def test_the_check_before_the_start_is_of_the_same_configuration() -> None:
    program, *arguments = shlex.split(SETTINGS["ExecStartPre"])
    options = cli.parse(arguments)
    assert arguments[:2] == ["test", "config"]
    assert options.configs == cli.parse(shlex.split(SETTINGS["ExecStart"])[1:]).configs
    assert program == shlex.split(SETTINGS["ExecStart"])[0]


def test_a_reload_is_the_signal_that_the_shipper_reads_its_configuration_again_after() -> None:
    words = ["/bin/sh", "-c", f"{SETTINGS['ExecStartPre']} && kill -HUP $MAINPID"]
    assert shlex.split(SETTINGS["ExecReload"]) == words, "minimal systems have no /bin/kill"
    assert SETTINGS["RestartForceExitStatus"] == "SIGHUP", "one that comes before the shipper listens ends it"
    with Signals(lambda: None, reloads=True) as signals:
        signal.raise_signal(signal.SIGHUP)
        assert signals.hung_up()


def test_a_stop_may_take_as_long_as_the_shipper_waits_by_default() -> None:
    """`shutdown_timeout` for acknowledgements, then once more for the disk that positions are saved on."""
    default = ShipperConfig.__dataclass_fields__["shutdown_timeout"].default
    assert isinstance(default, float)
    waits = 2 * default
    assert parse_duration(SETTINGS["TimeoutStopSec"]) > waits


def test_the_user_may_read_all_logs_and_has_no_other_capability() -> None:
    assert SETTINGS["User"] not in ("", "root")
    assert SETTINGS["CapabilityBoundingSet"] == SETTINGS["AmbientCapabilities"] == "CAP_DAC_READ_SEARCH"


def test_the_page_installs_what_the_unit_names(page: str) -> None:
    program, *arguments = shlex.split(SETTINGS["ExecStart"])
    options = cli.parse(arguments)
    lines = page.splitlines()
    assert f"python3 -m venv {Path(program).parents[1]}" in lines
    (config,) = options.configs
    assert f"install -d {config.parent}" in lines
    assert any(f"-g {SETTINGS['Group']} " in line and str(config) in line for line in lines)
    assert any(line.startswith("useradd --system ") and line.endswith(f" {SETTINGS['User']}") for line in lines)
    assert f"path.data: {options.data}" in page
    assert str(UNIT.relative_to(ROOT)) in page


def test_systemd_waits_for_the_first_scan_and_watches_the_loop() -> None:
    assert (SETTINGS["Type"], SETTINGS["NotifyAccess"]) == ("notify", "main")
    assert parse_duration(SETTINGS["WatchdogSec"]) > 10 * STATUS_INTERVAL
    # Restart=on-failure covers the watchdog, whose signal must not be one that counts as a clean exit.
    assert SETTINGS["Restart"] == "on-failure"
    assert "WatchdogSignal" not in SETTINGS
    assert parse_duration(SETTINGS["TimeoutStartSec"]) > START_PATIENCE + EXTENSION


@NEEDS_SYSTEMD
def test_the_unit_is_hardened() -> None:
    assert exposure(UNIT) <= 2.0


@NEEDS_SYSTEMD
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    program = shlex.split(SETTINGS["ExecStart"])[0]
    copy.write_text(UNIT.read_text().replace(program, shutil.which("true") or "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
