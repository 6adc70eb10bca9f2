"""What a command imports: that is most of a short command's time, and a fifth of that of a million lines."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.status_documents import document, serving

PROGRAM = """
import sys
before = set(sys.modules)
from log_shipper.shipper.__main__ import main
sys.argv[0] = "shipper"
code = main()
names = {name.removeprefix("log_shipper.") for name in sys.modules}
print(code, *sorted(names - before), file=sys.stderr)
"""


# A broker within librdkafka, which needs no port and no time.
TO_KAFKA = "output.kafka: {hosts: x, topic: t, librdkafka: {test.mock.num.brokers: 1}}"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "app.log").write_text("one\ntwo\n")
    path = tmp_path / "shipper.yml"
    path.write_text(
        f"shipper.inputs: [{{type: filestream, id: app, paths: [{tmp_path}/app.log]}}]\n"
        f"output.file.path: {tmp_path}/out\npath.data: {tmp_path}/data\n"
    )
    return path


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a command loads, which must succeed: ours and those of libraries. The standard
    library does not count: its parts differ by release of Python."""
    return {name for name in all_loaded(*arguments) if name.partition(".")[0] not in sys.stdlib_module_names}


def all_loaded(*arguments: str) -> set[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


def processors(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("shipper.processors.")}


def test_the_version_is_printed_before_anything_is_loaded_that_reads_a_configuration() -> None:
    modules = loaded("version")
    assert [name for name in modules if name.startswith(("shipper.options", "yaml", "shipper.agent.app"))] == []
    assert len(modules) <= 17


def test_the_registry_is_listed_without_what_ships(config: Path) -> None:
    modules = loaded("registry", "list", "-c", str(config), "--path.data", str(config.parent))
    assert modules & {"shipper.agent.app", "shipper.inputs.files.crawler", "confluent_kafka", "watchdog"} == set()
    assert len(modules) <= 152  # with the module of the output, which has its options


@pytest.mark.parametrize("command", [["top", "--once"], ["tap", "--count", "1"]])
def test_a_running_agent_is_looked_at_without_what_ships(command: list[str], tmp_path: Path) -> None:
    def answer(path: str) -> tuple[int, bytes]:
        event = {"path": "/a", "topic": "", "key": "", "headers": [], "value": "a"}
        return 200, json.dumps(document() if path == "/status" else event).encode() + b"\n"

    with serving(tmp_path / "shipper.sock", answer):
        modules = loaded(*command, "-c", str(tmp_path / "none.yml"), "--path.data", str(tmp_path))
    assert (
        modules & {"shipper.agent.app", "shipper.tap.tap", "shipper.top.screen", "confluent_kafka", "orjson"} == set()
    )
    assert len(modules) <= 120


def test_a_configuration_is_read_without_the_options_that_it_does_not_have(config: Path) -> None:
    modules = loaded("test", "config", "-c", str(config))
    assert modules & {"config.json_schema", "shipper.options.flat_inputs", "confluent_kafka"} == set()
    assert processors(modules) == set()


def test_a_configuration_is_read_without_the_clients_of_its_processors(config: Path) -> None:
    with config.open("a") as file:
        file.write("processors: [add_kubernetes_metadata: , add_docker_metadata: , add_cloud_metadata: , ")
        file.write("dns: {type: a, fields: {a: b}}]\n")
    modules = all_loaded("test", "config", "-c", str(config))
    assert len(processors(modules)) == 4
    assert modules & {"_ssl", "http.client", "dns"} == set()


def test_a_run_loads_neither_another_output_nor_processors(config: Path) -> None:
    modules = loaded("run", "--once", "-c", str(config))
    outputs = {"confluent_kafka", "shipper.outputs.kafka", "shipper.options.kafka", "shipper.outputs.console"}
    assert modules & {*outputs, "shipper.kubernetes"} | processors(modules) == set()
    assert len(modules) <= 304


def test_what_asks_an_api_server_is_loaded_where_there_is_one(config: Path) -> None:
    with config.open("a") as file:
        file.write("processors: [add_kubernetes_metadata: ~]\n")
    modules = loaded("run", "--once", "-c", str(config))
    assert processors(modules) == {"shipper.processors.add_kubernetes_metadata"}
    asking = {f"shipper.kubernetes.{name}" for name in ("client", "cluster", "kubeconfig", "watcher")}
    assert modules & asking == set()


def test_a_run_to_kafka_loads_no_transactions_unless_they_are_on(config: Path) -> None:
    config.write_text(re.sub("output.file.*", TO_KAFKA, config.read_text()))
    modules = loaded("run", "--once", "-c", str(config))
    assert modules & {"shipper.output.transactions", "cryptography"} | processors(modules) == set()
    assert modules & {"shipper.outputs.console", "shipper.outputs.file"} == set()
    assert len(modules) <= 346


def test_a_run_to_kafka_loads_neither_openssl_nor_re2_unless_they_are_used(config: Path) -> None:
    config.write_text(re.sub("output.file.*", TO_KAFKA, config.read_text()))
    modules = all_loaded("run", "--once", "-c", str(config))
    assert "confluent_kafka" in modules
    assert modules & {"_ssl", "_hashlib", "asyncio", "re2"} == set()


def test_what_confluent_kafka_has_in_the_place_of_asyncio_loads_it_when_it_is_used() -> None:
    program = """
import sys
from log_shipper.runtime.kafka import load_library
load_library()
assert "confluent_kafka" in sys.modules and "asyncio" not in sys.modules
from confluent_kafka import _serde_builder
used = _serde_builder.asyncio.get_running_loop
import asyncio, asyncio.events
assert used is asyncio.get_running_loop and asyncio.events is sys.modules["asyncio.events"]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
