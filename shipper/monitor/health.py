"""The health of the shipper in words, for the page, and for the probes of a supervisor.

`/healthz`  200 while the reading loop steps, else 503: restart it then. A broker that is away is no reason.
`/readyz`   200 when the configuration is loaded, the registry is open, and the output has answered once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from log_shipper.runtime.monitor.health import Health
from log_shipper.shipper.metrics import DiskQueueFigures
from log_shipper.shipper.monitor.free_space import readable
from log_shipper.shipper.monitor.snapshot import Snapshot

MAX_SILENCE = 30.0  # seconds that a step of the loop may take: each is bounded, and far shorter
MAX_REASONS = 3


@dataclass(slots=True)
class StartProgress:
    """How far the start is. `stopping`: a stop was requested."""

    registry_open: bool = False
    stopping: bool = False


def health_of(snapshot: Snapshot | None, startup: StartProgress, acked: float | None) -> Health:
    """`acked`: events that were acknowledged a second, lately."""
    if snapshot is None:
        waits = "the output has to answer first" if startup.registry_open else "the registry is being opened"
        return Health("starting", f"The shipper starts: {waits}.")
    output = snapshot.output
    if snapshot.silent > MAX_SILENCE:
        return Health(
            "failing",
            f"The reading loop has made no progress for {snapshot.silent:.0f} s. Look whether a file system hangs, and "
            "restart the shipper.",
        )
    # Kafka has several topics, and what is sent to one of them may be delivered all the same.
    if output.failing and not (acked and output.kind == "Kafka"):
        return Health("failing", f"{output.problem}. Events are kept and sent when it works again.")
    if not output.reached:
        return Health("starting", f"{output.kind} has not answered yet.")
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
            f"{snapshot.letters_waiting} rejected events cannot be saved as dead letters, and their files wait: make "
            "path.data writable."
        )
    if snapshot.output.waiting:
        topic, words = next(iter(snapshot.output.waiting.items()))
        count = len(snapshot.output.waiting)
        reasons.append(
            f"{count} topic{'s' if count > 1 else ''} hold{'' if count > 1 else 's'} up records: {words or topic}."
        )
    if snapshot.output.failing:
        reasons.append(f"{snapshot.output.problem}; other events are delivered.")
    if snapshot.is_reload_refused:
        reasons.append("The configuration was read again and has a mistake, see the log; the one before is in effect.")
    if snapshot.disk is not None and snapshot.disk.is_low:
        reasons.append(f"The disk of path.data is nearly full: {readable(snapshot.disk.free)} are free.")
    if snapshot.disk_queue is not None:
        reasons += _of_disk_queue(snapshot.disk_queue)
    if snapshot.problems:
        path, problem = next(iter(snapshot.problems.items()))
        others = len(snapshot.problems) - 1
        more = f" (and {others} more)" if others else ""
        reasons.append(f"Cannot be read: {path}: {problem}{more}.")
    if snapshot.refused_for_containers:
        first, *rest = snapshot.refused_for_containers
        more = f" (and {len(rest)} more)" if rest else ""
        reasons.append(f"Not read as it is configured: {first}{more}.")
    return reasons


def _of_disk_queue(queue: DiskQueueFigures) -> list[str]:
    if queue.problem:
        return [f"{queue.problem}. What the output does not take stays in memory."]
    if queue.watermark:
        words = ("is filling up", "is so full that the queue does not grow", "is full: deleted files are given up")
        return [f"The disk of the queue or of the registry {words[queue.watermark - 1]}: free some space there."]
    if queue.is_full:
        return [f"The queue on disk is full ({readable(queue.bytes)}): nothing more is read until some is delivered."]
    return []


def alive(snapshot: Snapshot | None, silent: float) -> tuple[bool, Mapping[str, Any]]:
    """Return whether the shipper is alive, and the document that says so. `silent`: as `silent_for` of
    the App has it."""
    is_alive = snapshot is None or silent <= MAX_SILENCE
    document = {
        "alive": is_alive,
        "started": snapshot is not None,
        "loop_silent_seconds": round(silent, 3),
        "limit_seconds": MAX_SILENCE,
    }
    return is_alive, document


def ready(snapshot: Snapshot | None, startup: StartProgress) -> tuple[bool, Mapping[str, Any]]:
    """Return whether the shipper is ready, and the document that says what is missing."""
    parts = {
        "configuration": True,
        "registry": startup.registry_open,
        "output": snapshot is not None and snapshot.output.reached,
        "running": not startup.stopping,
    }
    missing = [name for name, is_ready in parts.items() if not is_ready]
    return not missing, {"ready": not missing, "missing": missing, **parts}
