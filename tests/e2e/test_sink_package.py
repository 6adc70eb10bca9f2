"""The Debian package of the sink in a fresh Debian that reaches no package server: all that `run` needs is in it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from demo.broker import Broker
from tests.e2e.debian import System, require
from tests.e2e.running import REPOSITORY
from tests.e2e.sinking import send

pytestmark = [pytest.mark.slow("builds a package and a Debian"), pytest.mark.kafka]
CONFIG = "/etc/spark-sink/sink.yml"
CACHE = "/var/cache/spark-sink"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """SINK_PACKAGE may name one that exists: it takes ten minutes to build."""
    require("debootstrap", "dpkg-deb", "unshare")
    if given := os.environ.get("SINK_PACKAGE"):
        return Path(given)
    command = [sys.executable, "-m", "deploy.debian", "--only", "sink", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture
def system(package: Path, tmp_path: Path) -> System:
    """It resolves the name of this machine and no other one."""
    system = System(tmp_path / "debian", included="python3.11,openjdk-17-jre-headless")
    system.path("/etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n")
    system.path("/etc/resolv.conf").write_text("")
    system.install(package)
    return system


def test_the_sink_lands_where_no_package_server_is_reached(
    system: System, kafka_broker: Broker, topic_name: str
) -> None:
    kafka_broker.create_topic(topic_name, 1)
    send(kafka_broker.bootstrap, topic_name, 0, 500)
    as_service = (
        "setpriv",
        "--reuid=spark-sink",
        "--regid=spark-sink",
        "--init-groups",
        "env",
        f"SHIPPER_CACHE={CACHE}",
    )
    system.path(CACHE).mkdir()
    system.run("chown", "spark-sink:", CACHE)
    options = ("-c", CONFIG, "-E", f"kafka.topics={topic_name}", "-E", f"kafka.hosts={kafka_broker.bootstrap}")
    system.run(*as_service, "spark-sink", "run", "--available-now", *options)
    lines = DeltaTable(str(system.path("/var/lib/spark-sink/logs"))).to_pyarrow_dataset()
    assert lines.count_rows() == 500
    assert list(system.path(CACHE).rglob("*.jar")) == []
    assert f"{topic_name}/0/499" in system.run(*as_service, "spark-sink", "search", "/0/499", *options)
