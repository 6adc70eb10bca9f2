"""The metrics of inputs that read no files."""

from log_shipper.shipper.monitor.measure import Measure, Samples
from log_shipper.shipper.monitor.snapshot import Snapshot

SOCKET_PROBLEMS = (
    *("datagrams_dropped", "connections_refused", "handshakes_failed"),
    *("connections_timed_out", "framing_errors", "messages_unfinished", "messages_oversized"),
)


def _requests(snapshot: Snapshot) -> Samples:
    metrics = snapshot.metrics
    yield ("accepted",), metrics.requests_accepted
    yield ("refused",), metrics.requests_refused
    yield ("postponed",), metrics.requests_postponed


def _socket_problems(snapshot: Snapshot) -> Samples:
    yield from (((kind,), getattr(snapshot.metrics, kind)) for kind in SOCKET_PROBLEMS)


FEED_MEASURES: tuple[Measure, ...] = (
    Measure(
        "counter",
        "http_requests",
        "Requests to http inputs by response: accepted (success), refused (4xx), postponed (503 and 504: the "
        "client should retry).",
        _requests,
        ("answer",),
    ),
    Measure(
        "counter",
        "socket_problems",
        "Socket errors by kind: datagrams_dropped (by the kernel, see read_buffer), connections_refused, "
        "handshakes_failed, connections_timed_out, framing_errors, messages_unfinished (lost when their "
        "connection ended), messages_oversized (truncated).",
        _socket_problems,
        ("kind",),
    ),
)
