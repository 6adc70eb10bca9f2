"""The sink's unit is held to its command line, and to systemd where there is one."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from log_shipper.config.text.units import parse_duration
from log_shipper.config.yaml.load import load
from log_shipper.spark_sink import commands
from log_shipper.spark_sink.__main__ import whole_parser
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.service import INTERVAL
from tests.unit.deploy.units import exposure, settings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "systemd"
UNIT = FOLDER / "spark-sink.service"
CONFIG = Path("/etc/spark-sink/sink.yml")
NEEDS_SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.mark.parametrize(("key", "command"), [("ExecStart", commands.run), ("ExecStartPre", commands.check_config)])
def test_the_commands_are_ones_that_the_sink_takes(key: str, command: object) -> None:
    program, *arguments = shlex.split(settings(UNIT)[key])
    options = whole_parser().parse_args(arguments)
    assert (Path(program).name, options.command, options.files) == ("spark-sink", command, [CONFIG])


def test_a_stop_asks_the_sink_alone_and_waits_for_its_batch() -> None:
    assert (settings(UNIT)["KillMode"], settings(UNIT)["TimeoutStopSec"]) == ("mixed", "5min")


def test_it_runs_as_a_user_without_rights() -> None:
    assert settings(UNIT)["User"] not in ("", "root")
    assert settings(UNIT)["CapabilityBoundingSet"] == ""


def test_the_configuration_that_we_ship_writes_where_the_units_may_write() -> None:
    config = load(ROOT / "config" / "sink.yml", SinkConfig, env={})
    state = Path("/var/lib") / settings(UNIT)["StateDirectory"]
    assert Path(settings(UNIT)["WorkingDirectory"]) == state
    written = (config.table.path, config.checkpoint.path, config.dead_letter_path, config.state_path)
    assert {Path(path).parent for path in written} == {state}
    assert settings(UNIT)["Environment"] == f"SHIPPER_CACHE=/var/cache/{settings(UNIT)['CacheDirectory']}"


def test_systemd_waits_for_the_query_and_watches_it() -> None:
    values = settings(UNIT)
    assert (values["Type"], values["NotifyAccess"]) == ("notify", "main")
    assert parse_duration(values["WatchdogSec"]) > 10 * INTERVAL


@NEEDS_SYSTEMD
def test_the_unit_is_hardened() -> None:
    assert exposure(UNIT) <= 2.0


@NEEDS_SYSTEMD
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    true = shutil.which("true") or "/bin/true"
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/kafka-log-shipper-sink/bin/spark-sink", true))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
