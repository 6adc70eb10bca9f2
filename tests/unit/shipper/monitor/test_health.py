"""The state of the shipper in words: each row of the table is an incident."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from log_shipper.shipper.monitor.health import StartProgress, alive, health_of, ready
from log_shipper.shipper.monitor.snapshot import DiskSpace
from tests.snapshots import KEPT, WELL

DOWN = "Kafka (a:9092): no broker is reachable; check output.kafka.hosts, the network and the brokers"


@dataclass(frozen=True)
class Incident:
    changes: dict[str, Any]
    state: str
    words: str
    acked: float = 0.0

    def __repr__(self) -> str:
        return self.words


INCIDENTS = [
    Incident({}, "ok", "Kafka accepts records."),
    Incident({"output": {"kind": ""}}, "ok", "The output accepts events."),
    Incident({"output": {"failing": True, "problem": DOWN}}, "failing", "no broker is reachable"),
    Incident({"output": {"failing": True, "problem": DOWN}}, "degraded", "other events are delivered", acked=5.0),
    Incident({"output": {"failing": True, "problem": "cannot write to /x", "kind": ""}}, "failing", "/x", acked=5.0),
    Incident({"is_reload_refused": True}, "degraded", "is invalid, see the log"),
    Incident({"output": {"reached": False}}, "starting", "Kafka has not responded yet."),
    Incident({"output": {"waiting": {"t": "topic t: create it"}}}, "degraded", "1 topic blocks records"),
    Incident({"registry": {"failing": True}}, "degraded", "Positions cannot be saved"),
    Incident({"letters_waiting": 3}, "degraded", "3 rejected events cannot be saved"),
    Incident({"disk": DiskSpace(50 * 1024**2, 10**11, is_low=True)}, "degraded", "nearly full: 50.0 MiB free"),
    Incident({"disk_queue": replace(KEPT, problem="/q cannot be written")}, "degraded", "cannot be written"),
    Incident({"disk_queue": replace(KEPT, watermark=1)}, "degraded", "is filling up: free some space there"),
    Incident(
        {"disk_queue": replace(KEPT, watermark=2, is_full=True)}, "degraded", "so full that the queue no longer grows"
    ),
    Incident({"disk_queue": replace(KEPT, watermark=3, is_full=True)}, "degraded", "deleted files are closed unread"),
    Incident({"disk_queue": replace(KEPT, is_full=True)}, "degraded", "The queue on disk is full (7.0 MiB)"),
    Incident({"disk_queue": KEPT}, "ok", "Kafka accepts records."),
    Incident({"problems": {"/x": "denied", "/y": "denied"}}, "degraded", "/x: denied (and 1 more)"),
    Incident({"refused_for_containers": ["pod a/b: x", "pod c/d: y"]}, "degraded", "pod a/b: x (and 1 more)"),
    Incident({"silent": 31.0}, "failing", "has made no progress for 31 s"),
]


@pytest.mark.parametrize("incident", INCIDENTS, ids=repr)
def test_an_incident_has_a_state_and_words(incident: Incident) -> None:
    changes = {
        name: replace(getattr(WELL, name), **change) if isinstance(change, dict) and name != "problems" else change
        for name, change in incident.changes.items()
    }
    health = health_of(replace(WELL, **changes), StartProgress(registry_open=True), incident.acked)
    assert health.state == incident.state
    assert incident.words in health.text


def test_open_warnings_are_counted_also_where_the_text_leaves_them_out() -> None:
    letters = {"letters_waiting": 3, "is_reload_refused": True, "problems": {"/x": "denied"}}
    many = replace(WELL, registry=replace(WELL.registry, failing=True), **letters)  # type: ignore[arg-type]  # by name
    health = health_of(many, StartProgress(registry_open=True), 0.0)
    assert (health.state, health.warnings, "/x" in health.text) == ("degraded", 4, False)


def test_a_start_names_what_it_waits_for() -> None:
    assert health_of(None, StartProgress(), None).text == "The shipper is starting: opening the registry."
    waiting = health_of(None, StartProgress(registry_open=True), None)
    assert (waiting.state, waiting.text) == ("starting", "The shipper is starting: waiting for the output.")


def test_it_is_alive_while_it_starts_and_while_the_loop_steps() -> None:
    assert alive(None, 1000.0)[0], "a start may wait for a broker"
    assert alive(WELL, 30.0)[0]
    is_alive, document = alive(WELL, 30.5)
    assert (is_alive, document["alive"], document["loop_silent_seconds"]) == (False, False, 30.5)


def test_it_is_ready_when_all_is_there_and_names_what_is_missing() -> None:
    opened = StartProgress(registry_open=True)
    unreached = replace(WELL, output=replace(WELL.output, reached=False))
    assert ready(WELL, opened) == (True, {"ready": True, "missing": []} | PARTS)
    assert ready(None, StartProgress())[1]["missing"] == ["registry", "output"]
    assert ready(unreached, opened)[1]["missing"] == ["output"]
    assert ready(WELL, StartProgress(registry_open=True, stopping=True))[1]["missing"] == ["running"]


PARTS = {"configuration": True, "registry": True, "output": True, "running": True}
