"""The closed list of the shipper's metrics: name, what it is, and where a snapshot has it. The names are those of
Prometheus without `shipper_`, and of a counter without `_total`.

docs/reference/shipper-metrics.md lists them; this prints its table:

    python -m log_shipper.shipper.monitor.measures
"""

from collections import Counter
from collections.abc import Callable

from log_shipper.shipper.formats.record import readable_path
from log_shipper.shipper.metrics import ContainerCounts, Metrics
from log_shipper.shipper.monitor.feed_measures import FEED_MEASURES
from log_shipper.shipper.monitor.measure import PREFIX, Labels, Measure, Samples, Times, one
from log_shipper.shipper.monitor.queue_measures import QUEUE_MEASURES
from log_shipper.shipper.monitor.snapshot import KubernetesFigures, Snapshot


def _counter(name: str, text: str, value: Callable[[Metrics], int]) -> Measure:
    return Measure("counter", name, text, one(lambda snapshot: value(snapshot.metrics)))


def _gauge(name: str, text: str, value: Callable[[Snapshot], float | None]) -> Measure:
    return Measure("gauge", name, text, one(value))


def _saves(snapshot: Snapshot) -> Samples:
    yield ("ok",), snapshot.registry.saved
    yield ("failed",), snapshot.registry.failed


def _reloads(snapshot: Snapshot) -> Samples:
    yield ("ok",), snapshot.reloads_ok
    yield ("failed",), snapshot.reloads_failed


def _of_containers(value: Callable[[ContainerCounts], int]) -> Callable[[Snapshot], Samples]:
    return one(lambda snapshot: None if snapshot.containers is None else value(snapshot.containers))


def _of_files(snapshot: Snapshot) -> Samples:
    # Two files may have the same path while the previous one is read to its end; and Prometheus accepts only UTF-8.
    behind: Counter[Labels] = Counter()
    for file in snapshot.files:
        behind[readable_path(file.path), file.input_id] += file.behind
    yield from behind.items()


def _kubernetes(value: Callable[[KubernetesFigures], int]) -> Callable[[Snapshot], Samples]:
    return one(lambda snapshot: value(snapshot.kubernetes) if snapshot.kubernetes is not None else None)


def _kubernetes_errors(snapshot: Snapshot) -> Samples:
    if snapshot.kubernetes is not None:
        yield from (((kind,), count) for kind, count in snapshot.kubernetes.errors.items())


INPUT = ("input",)
RESULT = ("result",)

MEASURES: tuple[Measure | Times, ...] = (
    _counter("events_read", "Events read.", lambda m: m.events_read),
    _counter("events_acknowledged", "Events acknowledged by the output.", lambda m: m.events_acked),
    _counter(
        "events_dead_lettered",
        "Rejected events saved as dead letters.",
        lambda m: m.events_dead_lettered,
    ),
    _counter(
        "events_filtered",
        "Events dropped by processors, and, before they count as read, by include_lines, exclude_lines and the parsers "
        "include_message and container.",
        lambda m: m.events_filtered,
    ),
    _counter("events_truncated", "Events with a message truncated to message_max_bytes.", lambda m: m.events_truncated),
    _counter("events_split", "Events too large for one record, sent in parts.", lambda m: m.events_split),
    _counter(
        "messages_cut_short",
        "Messages ended early because incomplete ones used too much memory (queue.mem.pending_bytes).",
        lambda m: m.messages_cut_short,
    ),
    _counter("processor_failures", "Events with an error in a parser or processor.", lambda m: m.processor_failures),
    _counter(
        "metadata_timeouts",
        "Events sent without container or machine metadata after waiting for it.",
        lambda m: m.metadata_timeouts,
    ),
    _counter(
        "bytes_read", "Bytes of files that became events or were dropped by the configuration.", lambda m: m.bytes_read
    ),
    _counter("bytes_acknowledged", "Bytes of files acknowledged.", lambda m: m.bytes_acked),
    _counter(
        "bytes_lost",
        "Bytes lost: in files truncated or removed before they were read, or received by listening inputs and "
        "neither delivered nor on disk at a stop.",
        lambda m: m.bytes_lost,
    ),
    _counter(
        "records_lost",
        "Records that Kafka deleted before a kafka input read them.",
        lambda m: m.records_lost,
    ),
    _counter("letters_resent", "Dead letters resent.", lambda m: m.letters_resent),
    _counter("transactions_committed", "Transactions committed.", lambda m: m.transactions_committed),
    _counter(
        "transactions_aborted",
        "Transactions aborted and repeated with the same records.",
        lambda m: m.transactions_aborted,
    ),
    _counter("batches_retried", "Batches resent.", lambda m: m.batches_retried),
    _counter("harvesters_started", "Files opened.", lambda m: m.harvesters_started),
    _counter("harvesters_closed", "Files closed.", lambda m: m.harvesters_closed),
    _counter("files_truncated", "Files truncated or rewritten while being read.", lambda m: m.files_truncated),
    _counter(
        "journal_entries_lost",
        "Journal entries deleted before they were read, unreadable or too large.",
        lambda m: m.journal_entries_lost,
    ),
    _counter("journalctl_failures", "Exits and failed starts of journalctl.", lambda m: m.journalctl_failures),
    _counter(
        "files_missed",
        "Files behind a symlink or a path without wildcards that were replaced before they were seen.",
        lambda m: m.files_missed,
    ),
    _counter("files_resent", "Files resent because they were touched.", lambda m: m.files_resent),
    *FEED_MEASURES,
    Measure(
        "counter",
        "autodiscover_events",
        "Container events: started, changed or ended.",
        _of_containers(lambda counts: counts.events),
    ),
    Measure(
        "counter",
        "autodiscover_configurations_refused",
        "Container configurations refused; the log has the reasons.",
        _of_containers(lambda counts: counts.refused),
    ),
    Measure(
        "counter",
        "autodiscover_hints_left_out",
        "Container hints ignored as not allowed or not supported; the log has the reasons.",
        _of_containers(lambda counts: counts.left_out),
    ),
    Measure(
        "gauge",
        "autodiscover_containers",
        "Containers known to the providers.",
        _of_containers(lambda counts: counts.containers),
    ),
    Measure(
        "gauge",
        "autodiscover_inputs_running",
        "Inputs running for containers.",
        _of_containers(lambda counts: counts.inputs),
    ),
    Measure(
        "gauge",
        "autodiscover_inputs_ending",
        "Inputs finishing the files of ended containers.",
        _of_containers(lambda counts: counts.ending),
    ),
    Measure(
        "counter",
        "input_events_read",
        "Events read by the input.",
        lambda s: (((i.id,), i.events_read) for i in s.inputs),
        INPUT,
    ),
    Measure(
        "counter",
        "input_bytes_read",
        "Bytes read from the input's files.",
        lambda s: (((i.id,), i.bytes_read) for i in s.inputs),
        INPUT,
    ),
    Measure(
        "counter",
        "output_errors",
        "Output errors, by librdkafka's name.",
        lambda s: (((name,), count) for name, count in s.output.errors.items()),
        ("kind",),
    ),
    Measure("gauge", "kubernetes_pods", "Pods known to add_kubernetes_metadata.", _kubernetes(lambda k: k.pods)),
    Measure(
        "counter",
        "kubernetes_lists",
        "Lists received from the Kubernetes API server: at startup, and after it forgot a watch.",
        _kubernetes(lambda k: k.lists),
    ),
    Measure(
        "counter",
        "kubernetes_watch_events",
        "Changes of pods, namespaces and nodes received from it.",
        _kubernetes(lambda k: k.events),
    ),
    Measure(
        "counter",
        "kubernetes_errors",
        "Failed requests to it, by kind: connection, tls, timeout, unauthorized, forbidden (RBAC), expired "
        "(watched version; listed again), throttled, server, refused, malformed, too_large.",
        _kubernetes_errors,
        ("kind",),
    ),
    Times(
        "produce_seconds",
        "Time from handing a batch to the output until its acknowledgement.",
        lambda s: s.produce,
    ),
    _gauge("output_reached", "1 if the output has responded since the start.", lambda s: s.output.reached),
    _gauge(
        "output_failing",
        "1 if the last report of the output is an error and nothing was acknowledged since.",
        lambda s: s.output.failing,
    ),
    _gauge(
        "topics_waiting",
        "Topics that block files: they refused records and accepted none since, or do not report about some.",
        lambda s: len(s.output.waiting),
    ),
    _gauge("queue_events", "Events in the queue, including those in flight.", lambda s: s.queue.events),
    _gauge("queue_events_capacity", "Maximum number of events in the queue.", lambda s: s.queue.max_events),
    _gauge("queue_bytes", "Bytes in the queue, including those in flight.", lambda s: s.queue.bytes),
    _gauge("queue_bytes_capacity", "Maximum bytes in the queue.", lambda s: s.queue.max_bytes),
    *QUEUE_MEASURES,
    _gauge(
        "batches_in_flight",
        "Batches in flight: sent and not acknowledged.",
        lambda s: s.output.batches_in_flight,
    ),
    _gauge("lag_bytes", "Unacknowledged bytes of all files.", lambda s: s.behind),
    Measure(
        "gauge",
        "input_lag_bytes",
        "Unacknowledged bytes of the input's open files.",
        lambda s: (((i.id,), i.behind) for i in s.inputs),
        INPUT,
    ),
    Measure(
        "gauge",
        "file_lag_bytes",
        "Unacknowledged bytes of the 20 files furthest behind.",
        _of_files,
        ("path", "input"),
    ),
    _gauge(
        "oldest_unacknowledged_seconds",
        "Age of the oldest unacknowledged event; 0 if none.",
        lambda s: s.oldest or 0,
    ),
    Measure(
        "gauge",
        "input_oldest_unacknowledged_seconds",
        "Age of the input's oldest unacknowledged event; 0 if none.",
        lambda s: (((i.id,), i.oldest or 0) for i in s.inputs),
        INPUT,
    ),
    _gauge("files_open", "Open files.", lambda s: s.files_open),
    _gauge("files_waiting", "Files waiting for the limit of open files.", lambda s: s.files_waiting),
    Measure(
        "gauge",
        "input_files_open",
        "Open files of the input.",
        lambda s: (((i.id,), i.files_open) for i in s.inputs),
        INPUT,
    ),
    _gauge("file_problems", "Unreadable files and directories.", lambda s: len(s.problems)),
    _gauge("registry_entries", "Registry entries: known files.", lambda s: s.registry.entries),
    Measure("counter", "registry_saves", "Saves of the registry, by result.", _saves, RESULT),
    Times("registry_fsync_seconds", "Duration of the registry's fsyncs.", lambda s: s.registry.fsync),
    _gauge("registry_failing", "1 while positions cannot be saved.", lambda s: s.registry.failing),
    _gauge("watches", "Files and directories with an inotify watch.", lambda s: s.watches),
    _gauge(
        "watch_fallbacks",
        "Files and directories without a watch, scanned periodically.",
        lambda s: s.watch_fallbacks,
    ),
    Measure("counter", "reloads", "Configuration reloads, by result.", _reloads, RESULT),
    _gauge(
        "dead_letters_waiting", "Rejected events that cannot be saved as dead letters.", lambda s: s.letters_waiting
    ),
    _gauge(
        "data_free_bytes",
        "Free space of the file system of path.data.",
        lambda s: None if s.disk is None else s.disk.free,
    ),
    _gauge(
        "loop_silent_seconds",
        "Time since the reading loop last made progress.",
        lambda s: s.silent,
    ),
)
# Metrics of the process, not of a snapshot.
START_TIME = ("start_time_seconds", "Start time of the shipper, in Unix time.")
INFO = ("info", "Always 1; labels have the release and the agent's name.")
INFO_LABELS = ("version", "name")


def documentation() -> str:
    """Return the table of docs/reference/shipper-metrics.md."""
    rows = [(measure.exposed, measure.kind, measure.labels, measure.text) for measure in MEASURES]
    rows.append((f"{PREFIX}{START_TIME[0]}", "gauge", (), START_TIME[1]))
    rows.append((f"{PREFIX}{INFO[0]}", "gauge", INFO_LABELS, INFO[1]))
    lines = (
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {text} |"
        for name, kind, labels, text in rows
    )
    return "\n".join(("| metric | type | labels | meaning |", "|---|---|---|---|", *lines)) + "\n"


if __name__ == "__main__":
    print(documentation(), end="")  # noqa: T201 - this is the command's answer
