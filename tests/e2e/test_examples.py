"""examples/ as its pages say: their configurations are accepted, and what they read arrives in Kafka or in a file."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest
import yaml

from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM
from tests.e2e.running import PATIENCE, Topic
from tests.e2e.test_shipper_exits import limit_requests

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NGINX_AND_JAVA, REPLAY, SIDECAR = (EXAMPLES / name for name in ("nginx-and-java", "replay", "sidecar"))
IMAGE_CONFIG = ROOT / "deploy" / "container" / "shipper.yml"

# The variables that the pages, the manifests and the files of Compose set.
CONFIGURATIONS = [
    ("nginx-and-java", "shipper", "shipper.yml", {"LOGS": "logs"}),
    ("replay", "shipper", "shipper.yml", {"LOGS": "logs"}),
    ("kubernetes-hints", "shipper", "shipper.yml", {"NODE_NAME": "node-1", "KAFKA_HOSTS": "kafka:9092"}),
    ("lake-on-minio", "shipper", "shipper.yml", {"KAFKA_HOSTS": "kafka:9092"}),
    (
        "lake-on-minio",
        "spark_sink",
        "sink.yml",
        {"KAFKA_HOSTS": "kafka:9092", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"},
    ),
    ("filebeat-to-delta", "shipper", "filebeat.yml", {}),
    ("filebeat-to-delta", "spark_sink", "sink.yml", {}),
]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **variables}


@pytest.mark.parametrize(
    ("example", "program", "file", "variables"), CONFIGURATIONS, ids=lambda value: value if value else "-"
)
def test_a_configuration_is_accepted_in_its_directory(
    example: str, program: str, file: str, variables: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"log_shipper.{program}", "test", "config", "-c", file],
        cwd=EXAMPLES / example,
        env=environment(variables),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Config OK\n")


def test_every_configuration_is_one_of_these() -> None:
    files = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("*/*.yml")}
    of_others = {"lake-on-minio/compose.yml", "lake-on-minio/overrides.yml", "sidecar/compose.yml", "replay/ci-job.yml"}
    assert files - of_others == {f"{example}/{file}" for example, _, file, _ in CONFIGURATIONS}


# nginx-and-java


@pytest.mark.kafka
def test_lines_of_nginx_become_fields_and_a_stack_trace_is_one_event(
    kafka_broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*SHIPPER_PROGRAM, "run", "--once", "-c", "shipper.yml", "--path.data", str(tmp_path / "data")],
        cwd=NGINX_AND_JAVA,
        env=environment({"LOGS": "logs", "KAFKA_HOSTS": kafka_broker.bootstrap, "KAFKA_TOPIC": topic.name}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    topic.read_to_end()
    events = sorted((record.value for record in topic.records), key=lambda event: str(event["@timestamp"]))
    assert len(events) == 6, "all but a probe of the load balancer"
    assert not any("s3cr3t" in record.raw.decode() or "4111" in record.raw.decode() for record in topic.records)

    got = {(event["service"]["name"], event["log"].get("level"), event["@timestamp"][11:]) for event in events}
    assert got == {
        ("nginx", None, "09:30:01.000Z"),
        ("nginx", None, "09:30:04.000Z"),
        ("nginx", "error", "09:30:04.000Z"),
        ("shop", "INFO", "09:30:03.871Z"),
        ("shop", "ERROR", "09:30:04.012Z"),
        ("shop", "WARN", "09:30:05.240Z"),
    }
    (paid,) = (event for event in events if event.get("user") == {"name": "ann"})
    assert paid["http"]["response"] == {"status_code": 502, "body": {"bytes": 157}}
    assert (paid["source"]["address"], paid["http"]["request"]["method"]) == ("10.1.0.7", "POST")
    assert paid["url"]["original"] == "/pay?order=17&token=[REDACTED:token]"
    (refused,) = (event for event in events if "error" in event)
    assert refused["error"]["message"].startswith("*93 upstream prematurely closed connection")
    (failed,) = (event for event in events if event["log"].get("level") == "ERROR")
    assert failed["message"].splitlines()[1:3] == [
        "com.example.shop.PaymentException: card [REDACTED:credit_card] declined",
        "\tat com.example.shop.Payment.charge(Payment.java:88)",
    ]
    assert failed["message"].endswith("\n\t... 12 more")
    assert (failed["process"]["thread"]["name"], failed["log"]["logger"]) == ("http-8080-3", "com.example.shop.Payment")


# sidecar


@pytest.mark.kafka
def test_the_sidecar_sends_what_the_program_has_written_until_its_end(
    kafka_broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    pod = yaml.safe_load((SIDECAR / "pod.yaml").read_text())["spec"]
    (program,), (sidecar,) = pod["containers"], pod["initContainers"]
    variables = {variable["name"]: variable.get("value", "of-the-pod") for variable in sidecar["env"]}
    logs = tmp_path / "logs"
    logs.mkdir()
    variables |= {
        "SHIPPER_PATHS": variables["SHIPPER_PATHS"].replace("/logs/", f"{logs}/"),
        "KAFKA_HOSTS": kafka_broker.bootstrap,
        "KAFKA_TOPIC": topic.name,
        "SHIPPER_DATA": str(tmp_path / "data"),
        "SHIPPER_HTTP_HOST": f"unix://{tmp_path}/http.sock",
    }
    command = [word.replace("/logs/", f"{logs}/").replace("sleep 1", "sleep 0.1") for word in program["command"]]
    shipper = subprocess.Popen([*SHIPPER_PROGRAM, "run", "-c", str(IMAGE_CONFIG)], env=environment(variables))
    writer = subprocess.Popen(command, start_new_session=True)
    try:
        topic.await_records(3)
    finally:
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
        written = (logs / "shop.log").read_text().splitlines()
        shipper.send_signal(signal.SIGTERM)
        code = shipper.wait(PATIENCE)
    assert code == 0
    topic.read_to_end()
    assert [record.value["message"] for record in topic.records] == written
    assert {json.dumps(record.value["kubernetes"]["pod"], sort_keys=True) for record in topic.records} == {
        '{"name": "of-the-pod", "uid": "of-the-pod"}'
    }


# replay


class Replay:
    """Runs replay.sh, with a `shipper` on its PATH."""

    def __init__(self, directory: Path, **variables: str) -> None:
        program = directory / "bin" / "shipper"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.join(SHIPPER_PROGRAM)} "$@"\n')
        program.chmod(0o755)
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self._environment = environment(variables) | {"TMPDIR": str(self.temporary)}
        self._environment["PATH"] = f"{program.parent}:{os.environ['PATH']}"

    def run(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [REPLAY / "replay.sh", *arguments],
            cwd=REPLAY,
            env=self._environment | variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )


def messages(lines: list[bytes]) -> list[str]:
    return sorted(str(orjson.loads(line)["message"]) for line in lines)


ALL = [f"2026-11-21 09:{minute:02}:00 order {minute} paid" for minute in range(35)]


def test_a_replay_into_a_file_has_each_line_once_those_of_gz_files_too(tmp_path: Path) -> None:
    replay, file = Replay(tmp_path), tmp_path / "out" / "replay.ndjson"
    done = replay.run("logs", file)
    assert (done.returncode, done.stdout) == (0, f"replayed: {REPLAY}/logs\n"), done.stderr
    assert messages(file.read_bytes().splitlines()) == ALL
    assert list(replay.temporary.iterdir()) == []


def test_a_replay_of_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = Replay(tmp_path).run(tmp_path / "empty", tmp_path / "out" / "replay.ndjson")
    assert done.returncode == 1
    assert "matches no file" in done.stderr


@pytest.mark.kafka
def test_a_replay_that_did_not_reach_kafka_fails_and_another_run_continues(
    kafka_broker: Broker, topic: Topic, tmp_path: Path
) -> None:
    replay = Replay(tmp_path, KAFKA_TOPIC=topic.name)
    done = replay.run("logs", KAFKA_HOSTS="localhost:1", TIMEOUT="1s")
    assert done.returncode == 1
    (data,) = replay.temporary.iterdir()
    assert f"not finished: {REPLAY}/logs. To continue: DATA={data} " in done.stderr

    for _ in range(2):  # the second has nothing left to send
        done = replay.run("logs", KAFKA_HOSTS=kafka_broker.bootstrap, DATA=str(data))
        assert done.returncode == 0, done.stderr
    topic.read_to_end()
    assert messages([record.raw for record in topic.records]) == ALL
    assert all(record.value["tags"] == ["replay"] for record in topic.records)


@pytest.mark.kafka
def test_a_replay_lists_what_was_refused(kafka_broker: Broker, topic: Topic, tmp_path: Path) -> None:
    limit_requests(kafka_broker, topic, 20_000)
    (tmp_path / "logs").mkdir()
    long = random.Random(1).randbytes(30_000).hex()  # it does not compress below the limit
    (tmp_path / "logs" / "app.log").write_text(f"short\n{long}\n")
    done = Replay(tmp_path, KAFKA_HOSTS=kafka_broker.bootstrap, KAFKA_TOPIC=topic.name).run(tmp_path / "logs")
    assert done.returncode == 3
    assert f"{tmp_path}/logs/app.log" in done.stderr.partition("which were refused")[2]
    topic.read_to_end()
    assert messages([record.raw for record in topic.records]) == ["short"]


def test_the_job_of_ci_runs_the_script_with_variables_that_it_knows() -> None:
    (job,) = yaml.safe_load((REPLAY / "ci-job.yml").read_text())["jobs"].values()
    (step,) = (step for step in job["steps"] if "run" in step)
    script = ROOT / shlex.split(step["run"])[0]
    assert script == REPLAY / "replay.sh"
    known = script.read_text() + (REPLAY / "shipper.yml").read_text()
    assert [name for name in step["env"] if f"${{{name}:" not in known] == []


def test_samples_are_what_the_page_counts() -> None:
    assert f"# {len(ALL)}: five lines of app.log" in (REPLAY / "README.md").read_text()
