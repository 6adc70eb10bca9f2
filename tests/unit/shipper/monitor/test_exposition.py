"""The metrics as Prometheus reads them. Their names are a contract with alert rules, dashboard and `shipper top`."""

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from log_shipper.shipper.monitor.exposition import exposition
from log_shipper.shipper.monitor.measures import MEASURES, documentation
from log_shipper.shipper.monitor.snapshot import KubernetesFigures
from log_shipper.shipper.monitor.status import AgentIdentity
from tests.snapshots import KEPT, WELL

IDENTITY = AgentIdentity("web-1", "host-1", "4f1c", "0.3.0", WELL.time - 60)
ROOT = Path(__file__).parents[4]
KUBERNETES = KubernetesFigures(pods=30, lists=3, events=500, errors={"forbidden": 4})
SHOWN = replace(WELL, output=replace(WELL.output, errors={"_TRANSPORT": 2}), kubernetes=KUBERNETES, disk_queue=KEPT)


@pytest.fixture(scope="module")
def samples() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(exposition(IDENTITY, SHOWN).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("shipper_events_read_total", {}, 1000),
        ("shipper_events_acknowledged_total", {}, 900),
        ("shipper_input_events_read_total", {"input": "app"}, 1000),
        ("shipper_output_errors_total", {"kind": "_TRANSPORT"}, 2),
        ("shipper_queue_disk_waiting_events", {}, 900),
        ("shipper_queue_disk_events_lost_total", {}, 1),
        ("shipper_queue_disk_failing", {}, 0),
        ("shipper_kubernetes_pods", {}, 30),
        ("shipper_kubernetes_lists_total", {}, 3),
        ("shipper_kubernetes_watch_events_total", {}, 500),
        ("shipper_kubernetes_errors_total", {"kind": "forbidden"}, 4),
        ("shipper_produce_seconds_bucket", {"le": "0.1"}, 2),
        ("shipper_produce_seconds_bucket", {"le": "+Inf"}, 4),
        ("shipper_produce_seconds_count", {}, 4),
        ("shipper_produce_seconds_sum", {}, 2.5),
        ("shipper_output_reached", {}, 1),
        ("shipper_output_failing", {}, 0),
        ("shipper_queue_events_capacity", {}, 3200),
        ("shipper_lag_bytes", {}, 5000),
        ("shipper_file_lag_bytes", {"path": "/var/log/app.log", "input": "app"}, 5000),
        ("shipper_input_oldest_unacknowledged_seconds", {"input": "app"}, 1.5),
        ("shipper_registry_saves_total", {"result": "ok"}, 8),
        ("shipper_registry_saves_total", {"result": "failed"}, 0),
        ("shipper_reloads_total", {"result": "failed"}, 1),
        ("shipper_data_free_bytes", {}, 10**10),
        ("shipper_start_time_seconds", {}, WELL.time - 60),
        ("shipper_info", {"version": "0.3.0", "name": "web-1"}, 1),
    ],
)
def test_a_metric_has_its_name_labels_and_value(
    samples: Samples, name: str, labels: dict[str, str], value: float
) -> None:
    assert samples[name, tuple(sorted(labels.items()))] == value


def test_all_of_the_closed_list_is_exposed_and_nothing_else(samples: Samples) -> None:
    families = {name for name, _ in samples}
    listed = {measure.exposed for measure in MEASURES} | {"shipper_start_time_seconds", "shipper_info"}
    parts = {f"{measure.exposed}{part}" for measure in MEASURES for part in ("_bucket", "_count", "_sum")}
    assert families - parts <= listed
    assert all(any(name.startswith(exposed) for name in families) for exposed in listed)


def test_while_it_starts_only_the_process_is_shown() -> None:
    families = text_string_to_metric_families(exposition(IDENTITY, None).decode())
    assert {family.name for family in families} == {"shipper_start_time_seconds", "shipper_info"}


def test_without_kubernetes_and_a_queue_on_disk_their_metrics_have_no_value() -> None:
    exposed = exposition(IDENTITY, WELL)
    assert b"\nshipper_kubernetes" not in exposed
    assert b"\nshipper_queue_disk" not in exposed


def test_a_label_may_have_any_text() -> None:
    odd = replace(WELL, files=[replace(WELL.files[0], path='/var/"log\n\\x')])
    assert exposition(IDENTITY, odd)


def test_the_path_of_a_file_may_be_any_bytes_and_that_of_two() -> None:
    first = WELL.files[0]
    odd = replace(
        WELL, files=[replace(first, path=path) for path in ("/l/\udcff.log", "/l/\udcfe.log", "/l/a", "/l/a")]
    )
    exposed = exposition(IDENTITY, odd).decode().splitlines()
    lags = [line for line in exposed if line.startswith("shipper_file_lag_bytes{")]
    assert lags == [
        f'shipper_file_lag_bytes{{input="app",path="{path}"}} 10000.0' for path in ("/l/\ufffd.log", "/l/a")
    ]


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "reference" / "shipper-metrics.md").read_text()
    assert documentation() in page, "python -m log_shipper.shipper.monitor.measures prints the table"
