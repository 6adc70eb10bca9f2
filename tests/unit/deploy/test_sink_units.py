"""The sink's units are held to its command line, to each other, and to systemd where there is one."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from log_shipper.config.sink.model import SinkConfig
from log_shipper.config.text.units import parse_duration
from log_shipper.config.yaml.load import load
from log_shipper.spark_sink import commands
from log_shipper.spark_sink.__main__ import whole_parser
from log_shipper.spark_sink.service import INTERVAL
from tests.unit.deploy.units import exposure, settings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "systemd"
RUN, MAINTAIN, TIMER = (
    FOLDER / name for name in ("spark-sink.service", "spark-sink-maintain.service", "spark-sink-maintain.timer")
)
CONFIG = Path("/etc/spark-sink/sink.yml")
NEEDS_SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.mark.parametrize(
    ("unit", "key", "command"),
    [
        (RUN, "ExecStart", commands.run),
        (RUN, "ExecStartPre", commands.check_config),
        (MAINTAIN, "ExecStart", commands.maintain),
    ],
)
def test_the_commands_are_ones_that_the_sink_takes(unit: Path, key: str, command: object) -> None:
    program, *arguments = shlex.split(settings(unit)[key])
    options = whole_parser().parse_args(arguments)
    assert (Path(program).name, options.command, options.files) == ("spark-sink", command, [CONFIG])
    assert not getattr(options, "dry_run", False)


def test_a_stop_asks_the_sink_alone_and_waits_for_its_batch() -> None:
    assert (settings(RUN)["KillMode"], settings(RUN)["TimeoutStopSec"]) == ("mixed", "5min")


def test_maintenance_may_do_what_the_sink_may_and_no_more() -> None:
    own = {"Description", "Type", "ExecStart", "ExecStartPre", "Restart", "RestartSec", "StartLimitIntervalSec"}
    own |= {
        "NotifyAccess",
        "TimeoutStartSec",
        "WatchdogSec",
        "TimeoutStopSec",
        "Nice",
        "CPUWeight",
        "IOWeight",
        "WantedBy",
    }
    run, maintain = ({k: v for k, v in settings(unit).items() if k not in own} for unit in (RUN, MAINTAIN))
    assert run == maintain
    assert run["User"] not in ("", "root")
    assert run["CapabilityBoundingSet"] == ""


def test_the_configuration_that_we_ship_writes_where_the_units_may_write() -> None:
    config = load(ROOT / "config" / "sink.yml", SinkConfig, env={})
    state = Path("/var/lib") / settings(RUN)["StateDirectory"]
    assert Path(settings(RUN)["WorkingDirectory"]) == state
    written = (config.table.path, config.checkpoint.path, config.dead_letter_path, config.state_path)
    assert {Path(path).parent for path in written} == {state}
    assert settings(RUN)["Environment"] == f"SHIPPER_CACHE=/var/cache/{settings(RUN)['CacheDirectory']}"


def test_the_timer_starts_maintenance_every_hour() -> None:
    assert TIMER.with_suffix(".service") == MAINTAIN
    assert settings(TIMER)["OnCalendar"] == "hourly"


def test_systemd_waits_for_the_query_and_watches_it() -> None:
    values = settings(RUN)
    assert (values["Type"], values["NotifyAccess"]) == ("notify", "main")
    assert parse_duration(values["WatchdogSec"]) > 10 * INTERVAL


@NEEDS_SYSTEMD
@pytest.mark.parametrize("unit", [RUN, MAINTAIN])
def test_the_unit_is_hardened(unit: Path) -> None:
    assert exposure(unit) <= 2.0


@NEEDS_SYSTEMD
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    true = shutil.which("true") or "/bin/true"
    for unit in (RUN, MAINTAIN, TIMER):
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/kafka-log-shipper-sink/bin/spark-sink", true))
    paths = [str(tmp_path / unit.name) for unit in (RUN, MAINTAIN, TIMER)]
    done = subprocess.run(["systemd-analyze", "verify", *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
