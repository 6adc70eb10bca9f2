"""The Debian package in a fresh Debian: installed, run, upgraded, removed, purged; and booted, with systemd."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from demo.broker import Broker
from log_shipper import VERSION
from tests.e2e.debian import Machine, System, checked, require
from tests.e2e.running import REPOSITORY, LiveWriter, Topic, await_true, lines_of

UNIT = "shipper.service"
CONFIG = "/etc/shipper/shipper.yml"
WRITTEN = "/var/lib/shipper/out/shipper"  # by output.file
pytestmark = pytest.mark.slow("builds a package and a Debian")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("debootstrap", "dpkg-deb", "unshare")
    output = tmp_path_factory.mktemp("package")
    command = [sys.executable, "-m", "deploy.debian", "--only", "shipper", "--output", str(output)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def newer(package: Path) -> Path:
    """The same with a higher version: to dpkg another release."""
    tree = package.parent / "newer"
    checked(["dpkg-deb", "-R", str(package), str(tree)])
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1+later", control.read_text(), flags=re.MULTILINE))
    path = package.parent / "newer.deb"
    checked(["dpkg-deb", "-Zzstd", "-z1", "-b", str(tree), str(path)])
    return path


@pytest.fixture
def system(package: Path, tmp_path: Path) -> System:
    return System(tmp_path / "debian")


@pytest.fixture
def machine(system: System, tmp_path: Path) -> Iterator[Machine]:
    require("systemd-nspawn", "nsenter")
    with Machine(system, tmp_path / "boot.log") as machine:
        yield machine


def configure(system: System, *paths: str, **output: object) -> None:
    """Write the configuration as an administrator does, who leaves owner and mode as they are."""
    inputs = [{"type": "filestream", "id": path, "paths": [path]} for path in paths]
    config = {"shipper.inputs": inputs, "path.data": "/var/lib/shipper", **output}
    with system.path(CONFIG).open("r+b") as file:
        file.truncate()
        file.write(orjson.dumps(config))


def messages(system: System) -> list[str]:
    """Return the messages of all whole lines: the last one may be written at this moment."""
    written = system.path(WRITTEN)
    lines = written.read_text().split("\n")[:-1] if written.exists() else []
    return [json.loads(line)["message"] for line in lines]


def restarted(machine: Machine, number: signal.Signals) -> None:
    """Send a signal to the service, and return when systemd has started it again."""
    before = int(machine.show(UNIT, "NRestarts"))
    machine.signal(UNIT, number)
    machine.await_state(UNIT, "NRestarts", lambda count: int(count) > before)
    machine.await_state(UNIT, "ActiveState", lambda state: state == "active")


def test_a_package_lists_its_components_and_nothing_of_the_machine_that_built_it(package: Path, tmp_path: Path) -> None:
    bill = json.loads(package.with_suffix(".cdx.json").read_text())
    names = {component["name"] for component in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX"
    assert {"confluent-kafka", "orjson"} <= names
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["version"]) == (
        "kafka-log-shipper",
        VERSION,
    )
    checked(["dpkg-deb", "-x", str(package), str(tmp_path)])
    foreign = [str(REPOSITORY), str(package.parent), sys.prefix]
    naming = subprocess.run(
        ["grep", "-rlF", *(f"-e{path}" for path in foreign), tmp_path], capture_output=True, check=False
    )
    assert naming.stdout.decode() == ""
    first = (tmp_path / "opt/kafka-log-shipper/bin/shipper").read_text().splitlines()[0]
    assert first == "#!/opt/kafka-log-shipper/bin/python"
    documents = tmp_path / "usr/share/doc/kafka-log-shipper"
    assert (
        "Files: *\nCopyright: The log-shipper authors\nLicense: Apache-2.0\n" in (documents / "copyright").read_text()
    )
    rules = (REPOSITORY / "deploy/prometheus/shipper-alerts.yml").read_text()
    (runbook,) = set(re.findall(r"runbook: (.*)#", rules))
    assert (documents / runbook).is_file()


@pytest.mark.skipif(shutil.which("lintian") is None, reason="not installed: lintian (apt-get install lintian)")
def test_lintian_finds_nothing_that_has_no_reason(package: Path) -> None:
    done = subprocess.run(["lintian", str(package)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_fresh_debian_installs_runs_upgrades_removes_and_purges_it(
    system: System, newer: Path, package: Path
) -> None:
    before = system.files()
    assert "systemctl enable --now shipper" in system.install(package)
    assert system.run("stat", "-c", "%U:%G %a", CONFIG).strip() == "root:shipper 640"
    assert system.run("shipper", "version").startswith("shipper ")

    logs = system.path("/var/log/app.log")
    logs.write_text("first\nsecond\n")
    configure(system, "/var/log/app.log", **{"output.file": {"path": str(Path(WRITTEN).parent)}})
    as_service = ("setpriv", "--reuid=shipper", "--regid=shipper", "--init-groups", "shipper", "run", "-c", CONFIG)
    system.run(*as_service, "--once")
    assert messages(system) == ["first", "second"]

    with LiveWriter(logs):
        daemon = subprocess.Popen(system.command(*as_service), stderr=subprocess.DEVNULL)
        await_true(lambda: len(messages(system)) > 1000, "lines of the old release")
        system.install(newer)
        daemon.terminate()
        assert daemon.wait(60) == 0
        stopped_at = len(messages(system))
        daemon = subprocess.Popen(system.command(*as_service), stderr=subprocess.DEVNULL)
        await_true(lambda: len(messages(system)) > stopped_at + 1000, "lines of the new release")
    daemon.terminate()
    assert daemon.wait(60) == 0
    system.run(*as_service, "--once")
    assert messages(system) == [text for _, _, text in lines_of(logs.read_bytes())], "none lost, none twice"
    assert b"output.file" in system.path(CONFIG).read_bytes(), "an upgrade keeps the configuration"

    system.run("dpkg", "--remove", "kafka-log-shipper")
    left = system.files() - before
    assert {name for name in left if name.startswith(("/opt", "/usr"))} == set()
    assert {CONFIG, WRITTEN} <= left
    system.run("dpkg", "--purge", "kafka-log-shipper")
    assert system.files() == before
    assert "shipper" not in system.path("/etc/passwd").read_text()


def test_a_purge_of_what_was_never_configured_leaves_nothing(system: System, package: Path) -> None:
    before = system.files()
    shutil.copy(package, system.path("/mnt"))
    system.run("dpkg", "--unpack", f"/mnt/{package.name}")
    system.run("dpkg", "--purge", "kafka-log-shipper")
    assert system.files() == before
    program = system.path("/usr/bin/install")
    program.rename(f"{program}.whole")
    with pytest.raises(AssertionError, match="post-installation script"):
        system.install(package)
    program.with_name("install.whole").rename(program)
    system.run("dpkg", "--purge", "kafka-log-shipper")
    assert system.files() == before
    assert "shipper" not in system.path("/etc/passwd").read_text()


def test_a_purge_does_without_what_the_package_depends_on(system: System, package: Path) -> None:
    system.install(package)
    for name in ("userdel", "groupdel"):
        system.path(f"/usr/sbin/{name}").unlink()
    system.run("dpkg", "--purge", "kafka-log-shipper")
    assert not system.path("/etc/shipper").exists()


@pytest.mark.kafka
def test_systemd_starts_reloads_restarts_and_watches_it(
    machine: Machine, package: Path, newer: Path, kafka_broker: Broker, topic: Topic
) -> None:
    system = machine.system
    machine.install(package)
    logs = system.path("/var/log/app")
    logs.mkdir()
    (logs / "app.log").touch()
    kafka = {"output.kafka": {"hosts": [kafka_broker.bootstrap], "topic": topic.name}}
    configure(system, "/var/log/app/app.log", **kafka)
    changes = system.path(f"/etc/systemd/system/{UNIT}.d/test.conf")
    changes.parent.mkdir()
    changes.write_text("[Service]\nWatchdogSec=8s\nRestartSec=1s\n")
    machine.run("systemctl", "enable", "--now", UNIT)
    assert machine.show(UNIT, "ActiveState") == "active", "the first scan is done"
    first = machine.show(UNIT, "MainPID")
    assert re.search(r"^Seccomp:\t2$", machine.run("cat", f"/proc/{first}/status"), re.MULTILINE)

    with LiveWriter(logs / "app.log", rate=1000):
        machine.await_state(UNIT, "StatusText", lambda text: bool(re.match(r"[1-9][\d,]* events/s, .* behind", text)))

        (logs / "second.log").write_text("of the second input\n")
        configure(system, "/var/log/app/app.log", "/var/log/app/second.log", **kafka)
        machine.run("systemctl", "reload", UNIT)
        topic.await_message("of the second input")
        whole = system.path(CONFIG).read_bytes()
        system.path(CONFIG).write_bytes(whole.replace(b"output.kafka", b"output.kafak"))
        with pytest.raises(AssertionError, match="exit code"):
            machine.run("systemctl", "reload", UNIT)
        assert "output.kafak" in machine.run("journalctl", "-p", "warning", "-o", "cat", "-u", UNIT)
        system.path(CONFIG).write_bytes(whole)
        assert machine.show(UNIT, "MainPID") == first, "nothing was restarted"

        restarted(machine, signal.SIGKILL)
        restarted(machine, signal.SIGSTOP)
        assert "Watchdog timeout" in machine.journal(UNIT)
        assert "most recent call first" in machine.journal(UNIT), "the place at which it hung"

        before = machine.show(UNIT, "MainPID")
        machine.install(newer)
        assert machine.show(UNIT, "ActiveState") == "active"
        assert machine.show(UNIT, "MainPID") not in (before, "0"), "the new release runs"
    topic.expect(logs / "app.log")

    machine.run("dpkg", "--purge", "kafka-log-shipper")
    assert machine.show(UNIT, "LoadState") == "not-found"
    assert not any(
        system.path(name).exists() for name in ("/var/lib/shipper", "/etc/shipper", "/opt/kafka-log-shipper")
    )
