"""The health of the shipper as text for the page, and for a supervisor's probes.

/healthz   200 while the reading loop steps, else 503: restart it then. An unreachable broker does not count.
/readyz    200 when the configuration is loaded, the registry is open, and the output has responded once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from log_shipper.config.text.units import readable_bytes
from log_shipper.runtime.monitor.health import Health
from log_shipper.shipper.metrics import DiskQueueFigures
from log_shipper.shipper.monitor.snapshot import Snapshot

MAX_SILENCE = 30.0  # maximum seconds of a step of the loop; steps are bounded and far shorter
MAX_REASONS = 3


@dataclass(slots=True)
class StartProgress:
    """The progress of the start. `stopping`: a stop was requested."""

    registry_open: bool = False
    stopping: bool = False


def health_of(snapshot: Snapshot | None, startup: StartProgress, acked: float | None) -> Health:
    """Return the health. `acked`: the recent rate of acknowledged events per second."""
    if snapshot is None:
        waits = "waiting for the output" if startup.registry_open else "opening the registry"
        return Health("starting", f"The shipper is starting: {waits}.")
    output = snapshot.output
    if snapshot.silent > MAX_SILENCE:
        return Health(
            "failing",
            f"The reading loop has made no progress for {snapshot.silent:.0f} s. Check for a hanging file system, "
            "and restart the shipper.",
        )
    # Kafka has several topics: some may be delivered while others fail.
    if output.failing and not (acked and output.kind == "Kafka"):
        return Health("failing", f"{output.problem}. Events are kept and sent later.")
    if not output.reached:
        return Health("starting", f"{output.kind} has not responded yet.")
    reasons = _reasons(snapshot)
    if reasons:
        return Health("degraded", " ".join(reasons[:MAX_REASONS]), len(reasons))
    return Health("ok", "Kafka accepts records." if output.kind == "Kafka" else "The output accepts events.")


def _reasons(snapshot: Snapshot) -> list[str]:
    reasons = []
    if snapshot.registry.failing:
        reasons.append("Positions cannot be saved: see the log, and make path.data writable.")
    if snapshot.letters_waiting:
        reasons.append(
            f"{snapshot.letters_waiting} rejected events cannot be saved as dead letters and block their files: "
            "see the log."
        )
    if snapshot.output.waiting:
        topic, words = next(iter(snapshot.output.waiting.items()))
        count = len(snapshot.output.waiting)
        reasons.append(
            f"{count} topic{'s' if count > 1 else ''} block{'' if count > 1 else 's'} records: {words or topic}."
        )
    if snapshot.output.failing:
        reasons.append(f"{snapshot.output.problem}; other events are delivered.")
    if snapshot.is_reload_refused:
        reasons.append("The reloaded configuration is invalid, see the log; the previous one is in effect.")
    if snapshot.disk is not None and snapshot.disk.is_low:
        reasons.append(f"The disk of path.data is nearly full: {readable_bytes(snapshot.disk.free)} free.")
    if snapshot.disk_queue is not None:
        reasons += _of_disk_queue(snapshot.disk_queue)
    if snapshot.problems:
        path, problem = next(iter(snapshot.problems.items()))
        others = len(snapshot.problems) - 1
        more = f" (and {others} more)" if others else ""
        reasons.append(f"Unreadable: {path}: {problem}{more}.")
    if snapshot.refused_for_containers:
        first, *rest = snapshot.refused_for_containers
        more = f" (and {len(rest)} more)" if rest else ""
        reasons.append(f"Not read as configured: {first}{more}.")
    return reasons


def _of_disk_queue(queue: DiskQueueFigures) -> list[str]:
    if queue.problem:
        return [f"{queue.problem}. Pending events are kept in memory."]
    if queue.watermark:
        words = (
            "is filling up",
            "is so full that the queue no longer grows",
            "is full: deleted files are closed unread",
        )
        return [f"The disk of the queue or of the registry {words[queue.watermark - 1]}: free some space there."]
    if queue.is_full:
        return [f"The queue on disk is full ({readable_bytes(queue.bytes)}): reading resumes once some is delivered."]
    return []


def alive(snapshot: Snapshot | None, silent: float) -> tuple[bool, Mapping[str, Any]]:
    """Return whether the shipper is alive, with the document that reports it. `silent`: from `silent_for` of the
    App."""
    is_alive = snapshot is None or silent <= MAX_SILENCE
    document = {
        "alive": is_alive,
        "started": snapshot is not None,
        "loop_silent_seconds": round(silent, 3),
        "limit_seconds": MAX_SILENCE,
    }
    return is_alive, document


def ready(snapshot: Snapshot | None, startup: StartProgress) -> tuple[bool, Mapping[str, Any]]:
    """Return whether the shipper is ready, with the document that names what is missing."""
    parts = {
        "configuration": True,
        "registry": startup.registry_open,
        "output": snapshot is not None and snapshot.output.reached,
        "running": not startup.stopping,
    }
    missing = [name for name, is_ready in parts.items() if not is_ready]
    return not missing, {"ready": not missing, "missing": missing, **parts}
