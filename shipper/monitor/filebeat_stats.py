"""`/`, `/stats` and `/inputs` with Filebeat's responses, for clients of Filebeat: beat-exporter, Metricbeat's module
`beat`, the probe of Elastic's Helm chart. Names are Filebeat's; figures that the shipper lacks are 0.
"""

import os
import platform
import resource
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from log_shipper.shipper.monitor.snapshot import Snapshot
from log_shipper.shipper.monitor.status import AgentIdentity

TICKS = 10  # milliseconds of one
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")

Document = dict[str, Any]


def info(identity: AgentIdentity, ephemeral_id: str) -> Document:
    """Return the response to `/`; `ephemeral_id` differs in each process."""
    return {
        "beat": "filebeat",
        "binary_arch": platform.machine(),
        "ephemeral_id": ephemeral_id,
        "gid": str(os.getgid()),
        "hostname": identity.host,
        "name": identity.name,
        "uid": str(os.getuid()),
        "uuid": identity.id,
        "version": identity.version,
    }


def stats(identity: AgentIdentity, ephemeral_id: str, snapshot: Snapshot) -> Document:
    return {
        "beat": _beat(identity, ephemeral_id, snapshot),
        "filebeat": _filebeat(snapshot),
        "libbeat": _libbeat(snapshot),
        "registrar": _registrar(snapshot),
        "system": _system(),
    }


def inputs(snapshot: Snapshot) -> list[Document]:
    """Return the metrics of each input, as for Filebeat's filestream, and the refusals of autodiscover."""
    refused: list[Document] = [
        {"id": "", "input": "autodiscover", "error": words} for words in snapshot.refused_for_containers
    ]
    return refused + [
        {
            "id": figures.id,
            "input": figures.type,
            "bytes_processed_total": figures.bytes_read,
            "events_processed_total": figures.events_read,
            "messages_read_total": figures.events_read,
            "files_active": figures.files_open,
        }
        for figures in snapshot.inputs
    ]


def _beat(identity: AgentIdentity, ephemeral_id: str, snapshot: Snapshot) -> Document:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    memory = _resident()
    return {
        "cpu": {
            "system": _cpu(usage.ru_stime),
            "total": {
                **_cpu(usage.ru_stime + usage.ru_utime),
                "value": round(1000 * (usage.ru_stime + usage.ru_utime)),
            },
            "user": _cpu(usage.ru_utime),
        },
        "handles": {"limit": {"hard": hard, "soft": soft}, "open": len(os.listdir("/proc/self/fd"))},
        "info": {
            "ephemeral_id": ephemeral_id,
            "name": "filebeat",
            "uptime": {"ms": round(1000 * (snapshot.time - identity.started))},
            "version": identity.version,
        },
        "memstats": {"gc_next": 0, "memory_alloc": memory, "memory_total": memory, "rss": memory},
        "runtime": {"goroutines": threading.active_count()},
    }


def _cpu(seconds: float) -> Document:
    milliseconds = round(1000 * seconds)
    return {"ticks": milliseconds // TICKS, "time": {"ms": milliseconds}}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_SIZE


def _filebeat(snapshot: Snapshot) -> Document:
    metrics = snapshot.metrics
    started, closed = metrics.harvesters_started, metrics.harvesters_closed
    return {
        "events": {
            "active": snapshot.queue.events,
            "added": metrics.events_read,
            "done": max(metrics.events_read - snapshot.queue.events, 0),
        },
        "harvester": {
            "closed": closed,
            "open_files": snapshot.files_open,
            "running": snapshot.files_open,
            "skipped": 0,
            "started": started,
        },
        "input": {"log": {"files": {"renamed": 0, "truncated": metrics.files_truncated}}},
    }


def _libbeat(snapshot: Snapshot) -> Document:
    metrics, queue = snapshot.metrics, snapshot.queue
    errors = sum(snapshot.output.errors.values())
    return {
        "config": {
            "module": {"running": 0, "starts": 0, "stops": 0},
            "reloads": snapshot.reloads_ok,
            "scans": snapshot.reloads_ok + snapshot.reloads_failed,
        },
        "output": {
            "events": {
                "acked": metrics.events_acked,
                "active": queue.events,
                "batches": snapshot.produce.count,
                "dead_letter": metrics.events_dead_lettered,
                "dropped": metrics.events_dead_lettered,
                "duplicates": 0,
                "failed": errors,
                "total": metrics.events_acked + metrics.events_dead_lettered + queue.events,
            },
            "read": {"bytes": 0, "errors": 0},
            "type": snapshot.output.kind.lower() or "file",
            "write": {"bytes": metrics.bytes_acked, "errors": errors},
        },
        "pipeline": {
            "clients": len(snapshot.inputs),
            "events": {
                "active": queue.events,
                "dropped": metrics.events_dead_lettered,
                "failed": metrics.processor_failures,
                "filtered": metrics.events_filtered,
                "published": snapshot.events_published,
                "retry": metrics.batches_retried,
                # Not events_read: it lacks lines that readers drop, and has events that a processor may still drop.
                "total": snapshot.events_published + metrics.events_filtered,
            },
            "queue": {"acked": metrics.events_acked, **_queue(snapshot)},
        },
    }


def _queue(snapshot: Snapshot) -> Document:
    """Return the fill level of the queue, by bytes if it is on disk, as in Filebeat."""
    queue, disk = snapshot.queue, snapshot.disk_queue
    if disk is None:
        filled: Document = {"events": queue.events, "pct": round(queue.events / queue.max_events, 4)}
        return {"max_events": queue.max_events, "filled": filled}
    filled = {"events": disk.waiting_events + queue.events, "bytes": disk.bytes}
    if disk.max_bytes:
        filled["pct"] = round(disk.bytes / disk.max_bytes, 4)
    return {"max_bytes": disk.max_bytes, "filled": filled}


def _registrar(snapshot: Snapshot) -> Document:
    registry = snapshot.registry
    return {
        "states": {"cleanup": 0, "current": registry.entries, "update": registry.saved},
        "writes": {"fail": registry.failed, "success": registry.saved, "total": registry.saved + registry.failed},
    }


def _system() -> Document:
    cores = os.cpu_count() or 1
    load: Mapping[str, float] = dict(zip(("1", "5", "15"), os.getloadavg(), strict=True))
    norm = {minutes: round(value / cores, 4) for minutes, value in load.items()}
    return {"cpu": {"cores": cores}, "load": {**{name: round(value, 2) for name, value in load.items()}, "norm": norm}}
