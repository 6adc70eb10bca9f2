"""The examples that land in a table, run with their configurations, and a bucket of moto in the place of MinIO's."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable

from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM, SINK_PROGRAM
from tests.e2e.sinking import PATIENCE
from tests.java import QUICK
from tests.object_store import ObjectStore

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.slow("starts of Spark; test_examples.py has the configurations without it"),
]
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(command: Sequence[str | Path], directory: Path, variables: Mapping[str, str]) -> str:
    """Run a command of an example's page in its directory; return what it prints."""
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **QUICK, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_lake_has_each_line_of_the_files_and_its_columns(
    kafka_broker: Broker, topic_name: str, object_store: ObjectStore, tmp_path: Path
) -> None:
    kafka_broker.create_topic(topic_name, 2)
    example = EXAMPLES / "lake-on-minio"
    variables = {name.upper(): value for name, value in object_store.options.items()}
    variables |= {
        "KAFKA_HOSTS": kafka_broker.bootstrap,
        "KAFKA_TOPIC": topic_name,
        "KAFKA_TOPICS": topic_name,
        "LOGS": "logs",
        "SHIPPER_DATA": str(tmp_path / "data"),
        "SHIPPER_HTTP_HOST": f"unix://{tmp_path}/http.sock",
        "TABLE_PATH": f"{object_store.create_bucket()}/logs",
        "CHECKPOINT": str(tmp_path / "checkpoint"),
        "SINK_HTTP_HOST": "localhost",
        "SINK_HTTP_PORT": "0",
    }
    run([*SHIPPER_PROGRAM, "run", "--once", "-c", "shipper.yml"], example, variables)
    run([*SINK_PROGRAM, "run", "-c", "sink.yml", "--available-now"], example, variables)

    table = DeltaTable(variables["TABLE_PATH"], storage_options=dict(object_store.options))
    rows = table.to_pyarrow_table(columns=["message", "service", "level", "took_ms"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [
        ("order 17: 2 items", "shop", "info", 12.5),
        ("order 17: next attempt in 30 s", "shop", "warn", None),
        ("order 17: payment failed", "shop", "error", 1041.0),
        ("this line is not JSON", None, None, None),
    ]
    condition = "level = 'error' AND took_ms = 1041"
    assert f'--where "{condition}"' in (example / "README.md").read_text()
    hits = run([*SINK_PROGRAM, "search", "-c", "sink.yml", "--where", condition], example, variables)
    assert hits.endswith("/logs/shop.log: order 17: payment failed\n")


def test_records_of_filebeat_land_and_are_found(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> None:
    kafka_broker.create_topic(topic_name, 2)
    example = EXAMPLES / "filebeat-to-delta"
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    records = (example / "records.ndjson").read_bytes().splitlines()
    for record in records:
        producer.produce(topic_name, record)
    assert producer.flush(PATIENCE) == 0

    variables = {"KAFKA_HOSTS": kafka_broker.bootstrap, "KAFKA_TOPIC": topic_name, "LAKE": str(tmp_path / "lake")}
    run([*SINK_PROGRAM, "run", "-c", "sink.yml", "--available-now"], example, variables)

    columns = ["message", "host", "path", "service", "agent"]
    rows = DeltaTable(str(tmp_path / "lake" / "logs")).to_pyarrow_table(columns=columns).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [
        (event["message"], "web-1", "/var/log/shop/shop.log", "shop", "filebeat") for event in map(json.loads, records)
    ]
    text = run([*SINK_PROGRAM, "search", "-c", "sink.yml", "payment"], example, variables)
    page = (example / "README.md").read_text()
    assert text.strip() in page, f"the page has another line than {text!r}"
