"""What trustpilot/beat-exporter, Metricbeat's module and the probe of Elastic's chart read of Filebeat's answers."""

from dataclasses import replace
from typing import Any

import pytest

from log_shipper.shipper.monitor.filebeat_stats import info, inputs, stats
from log_shipper.shipper.monitor.status import AgentIdentity
from tests.snapshots import KEPT, WELL

IDENTITY = AgentIdentity("web-1", "host-1", "4f1c", "0.3.0", WELL.time - 60)

# The paths in /stats that beat-exporter reads, as of its release 0.4, and what they are here.
READ_BY_BEAT_EXPORTER = {
    "beat.cpu.system.time.ms": int,
    "beat.cpu.system.ticks": int,
    "beat.cpu.user.time.ms": int,
    "beat.cpu.user.ticks": int,
    "beat.cpu.total.time.ms": int,
    "beat.cpu.total.ticks": int,
    "beat.cpu.total.value": int,
    "beat.info.uptime.ms": 60_000,
    "beat.memstats.gc_next": 0,
    "beat.memstats.memory_alloc": int,
    "beat.memstats.memory_total": int,
    "beat.memstats.rss": int,
    "filebeat.events.active": 100,
    "filebeat.events.added": 1000,
    "filebeat.events.done": 900,
    "filebeat.harvester.closed": 2,
    "filebeat.harvester.open_files": 3,
    "filebeat.harvester.running": 3,
    "filebeat.harvester.skipped": 0,
    "filebeat.harvester.started": 5,
    "filebeat.input.log.files.renamed": 0,
    "filebeat.input.log.files.truncated": 1,
    "libbeat.config.module.running": 0,
    "libbeat.config.module.starts": 0,
    "libbeat.config.module.stops": 0,
    "libbeat.config.reloads": 2,
    "libbeat.output.events.acked": 900,
    "libbeat.output.events.active": 100,
    "libbeat.output.events.batches": 4,
    "libbeat.output.events.dropped": 3,
    "libbeat.output.events.duplicates": 0,
    "libbeat.output.events.failed": 2,
    "libbeat.output.read.bytes": 0,
    "libbeat.output.read.errors": 0,
    "libbeat.output.write.bytes": 45_000,
    "libbeat.output.write.errors": 2,
    "libbeat.output.type": "kafka",
    "libbeat.pipeline.clients": 1,
    "libbeat.pipeline.events.active": 100,
    "libbeat.pipeline.events.dropped": 3,
    "libbeat.pipeline.events.failed": 0,
    "libbeat.pipeline.events.filtered": 7,
    "libbeat.pipeline.events.published": 995,
    "libbeat.pipeline.events.retry": 0,
    "libbeat.pipeline.events.total": 1002,
    "libbeat.pipeline.queue.acked": 900,
    "registrar.states.cleanup": 0,
    "registrar.states.current": 6,
    "registrar.states.update": 8,
    "registrar.writes.fail": 0,
    "registrar.writes.success": 8,
    "registrar.writes.total": 8,
    "system.cpu.cores": int,
    "system.load.1": float,
    "system.load.5": float,
    "system.load.15": float,
    "system.load.norm.1": float,
    "system.load.norm.5": float,
    "system.load.norm.15": float,
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    failing = replace(WELL, output=replace(WELL.output, errors={"_TRANSPORT": 2}))
    return stats(IDENTITY, "e1", failing)


def at_path(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document[name]
    return document


def test_what_beat_exporter_reads_is_there(document: dict[str, Any], subtests: pytest.Subtests) -> None:
    for path, expected in READ_BY_BEAT_EXPORTER.items():
        with subtests.test(path):
            value = at_path(document, path)
            assert isinstance(value, expected) if isinstance(expected, type) else value == expected


def test_the_process_is_measured(document: dict[str, Any]) -> None:
    assert at_path(document, "beat.memstats.rss") > 1024**2
    assert at_path(document, "beat.handles.open") > 0


def test_the_queue_is_that_in_memory_or_the_one_on_disk() -> None:
    def queue(**changes: Any) -> Any:
        return at_path(stats(IDENTITY, "e1", replace(WELL, **changes)), "libbeat.pipeline.queue")

    assert queue() == {"acked": 900, "max_events": 3200, "filled": {"events": 100, "pct": 0.0312}}
    filled = {"events": 1000, "bytes": 7 * 1024**2, "pct": 0.0073}
    assert queue(disk_queue=KEPT) == {"acked": 900, "max_bytes": 10**9, "filled": filled}
    without_limit = {"events": 1000, "bytes": 7 * 1024**2}
    assert queue(disk_queue=replace(KEPT, max_bytes=0))["filled"] == without_limit


def test_the_root_has_the_five_names_of_a_beat() -> None:
    document = info(IDENTITY, "e1")
    read = ("beat", "hostname", "name", "uuid", "version")
    assert [document[name] for name in read] == ["filebeat", "host-1", "web-1", "4f1c", "0.3.0"]


def test_the_inputs_are_a_list_with_the_names_of_filestream() -> None:
    (entry,) = inputs(WELL)
    assert entry == {
        "id": "app",
        "input": "filestream",
        "bytes_processed_total": 50_000,
        "events_processed_total": 1000,
        "messages_read_total": 1000,
        "files_active": 3,
    }


def test_the_inputs_say_what_was_refused_for_a_container() -> None:
    refused, running = inputs(replace(WELL, refused_for_containers=["pod a/b: annotation c: wrong"]))
    assert refused == {"id": "", "input": "autodiscover", "error": "pod a/b: annotation c: wrong"}
    assert running["id"] == "app"
