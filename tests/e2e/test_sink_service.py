"""The sink's process as systemd sees it."""

from pathlib import Path

import psutil
import pytest

from demo.broker import Broker
from log_shipper.spark_sink.service import WAITING
from tests.e2e.sinking import PATIENCE, SinkProcess, send
from tests.service_manager import ServiceManager

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow("Spark starts for it")]


def is_alive(process: psutil.Process) -> bool:
    """Return False if the process has ended, also while it is a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_service_manager_sees_the_wait_for_a_topic_the_query_and_the_stop(
    kafka_broker: Broker, topic_name: str, tmp_path: Path
) -> None:
    with ServiceManager(watchdog=60.0) as manager:
        sink = SinkProcess(tmp_path, kafka_broker, topic_name, "")
        sink.environment = manager.environment
        sink.start()
        try:
            assert manager.await_report("READY=1", PATIENCE)[-1] == f"STATUS={WAITING}"
            kafka_broker.create_topic(topic_name, 1)
            send(kafka_broker.bootstrap, topic_name, 0, 10)
            manager.await_report("STATUS=10 rows landed", PATIENCE)
            assert manager.await_report("WATCHDOG=1", PATIENCE) == ["WATCHDOG=1"]
            below = sink.children()
            assert {"java", "python"} <= {child.name().rstrip("0123456789.") for child in below}
            sink.ask_to_end()
            assert "WATCHDOG_USEC=0" in manager.await_report("STOPPING=1", PATIENCE)
            assert sink.wait() == 0
            assert [child for child in below if is_alive(child)] == [], (
                "systemd would kill them one by one, and log each"
            )
        finally:
            sink.kill()
