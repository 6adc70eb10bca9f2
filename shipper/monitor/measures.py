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
    # Two files may have one path, while the previous one is read to its end; and Prometheus takes UTF-8 only.
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
    _counter("events_read", "Events that the readers gave.", lambda m: m.events_read),
    _counter("events_acknowledged", "Events that the output acknowledged.", lambda m: m.events_acked),
    _counter(
        "events_dead_lettered",
        "Events that were rejected, and saved as dead letters.",
        lambda m: m.events_dead_lettered,
    ),
    _counter("events_filtered", "Events that were dropped on purpose.", lambda m: m.events_filtered),
    _counter("events_truncated", "Events whose message was cut to message_max_bytes.", lambda m: m.events_truncated),
    _counter(
        "events_split", "Events that were sent in parts, as they were too large for a record.", lambda m: m.events_split
    ),
    _counter(
        "messages_cut_short",
        "Messages that were ended early because unfinished ones took too much memory (queue.mem.pending_bytes).",
        lambda m: m.messages_cut_short,
    ),
    _counter(
        "processor_failures", "Events that a parser or processor could not process.", lambda m: m.processor_failures
    ),
    _counter(
        "metadata_timeouts",
        "Events that waited for metadata of their container or machine, and were sent without.",
        lambda m: m.metadata_timeouts,
    ),
    _counter("bytes_read", "Bytes of files that became events, or were dropped on purpose.", lambda m: m.bytes_read),
    _counter("bytes_acknowledged", "Bytes of files that are acknowledged.", lambda m: m.bytes_acked),
    _counter(
        "bytes_lost",
        "Bytes that could not be shipped: of files that were truncated or removed before they were read, or received "
        "by an input that listens and at a stop neither delivered nor on disk.",
        lambda m: m.bytes_lost,
    ),
    _counter(
        "records_lost",
        "Records that Kafka had deleted before an input of type kafka read them.",
        lambda m: m.records_lost,
    ),
    _counter("letters_resent", "Dead letters that were sent again.", lambda m: m.letters_resent),
    _counter("transactions_committed", "Transactions that were committed.", lambda m: m.transactions_committed),
    _counter(
        "transactions_aborted",
        "Transactions that were aborted, and repeated with the same records.",
        lambda m: m.transactions_aborted,
    ),
    _counter("batches_retried", "Batches that were sent again.", lambda m: m.batches_retried),
    _counter("harvesters_started", "Files that were opened.", lambda m: m.harvesters_started),
    _counter("harvesters_closed", "Files that were closed.", lambda m: m.harvesters_closed),
    _counter(
        "files_truncated", "Files that were truncated or rewritten while they were read.", lambda m: m.files_truncated
    ),
    _counter("journal_entries_lost", "Entries of a journal that could not be read.", lambda m: m.journal_entries_lost),
    _counter("journalctl_failures", "Times that a journalctl ended or did not start.", lambda m: m.journalctl_failures),
    _counter(
        "files_missed",
        "Files at the end of a link, or of a path without a wildcard, that were replaced before they were seen.",
        lambda m: m.files_missed,
    ),
    _counter("files_resent", "Files that were sent again because they were touched.", lambda m: m.files_resent),
    *FEED_MEASURES,
    Measure(
        "counter",
        "autodiscover_events",
        "Events of containers: that one came, changed or ended.",
        _of_containers(lambda counts: counts.events),
    ),
    Measure(
        "counter",
        "autodiscover_configurations_refused",
        "Configurations for containers that were refused; the log has the reasons.",
        _of_containers(lambda counts: counts.refused),
    ),
    Measure(
        "counter",
        "autodiscover_hints_left_out",
        "Hints of containers that were left out: not allowed, or not supported; the log has the reasons.",
        _of_containers(lambda counts: counts.left_out),
    ),
    Measure(
        "gauge",
        "autodiscover_containers",
        "Containers that are there, as far as providers show them.",
        _of_containers(lambda counts: counts.containers),
    ),
    Measure(
        "gauge",
        "autodiscover_inputs_running",
        "Inputs that run for containers.",
        _of_containers(lambda counts: counts.inputs),
    ),
    Measure(
        "gauge",
        "autodiscover_inputs_ending",
        "Those of them whose container has ended, and that are read to their end.",
        _of_containers(lambda counts: counts.ending),
    ),
    Measure(
        "counter",
        "input_events_read",
        "Events that the readers of the input gave.",
        lambda s: (((i.id,), i.events_read) for i in s.inputs),
        INPUT,
    ),
    Measure(
        "counter",
        "input_bytes_read",
        "Bytes that were read of the input's files.",
        lambda s: (((i.id,), i.bytes_read) for i in s.inputs),
        INPUT,
    ),
    Measure(
        "counter",
        "output_errors",
        "Errors of the output, by librdkafka's name.",
        lambda s: (((name,), count) for name, count in s.output.errors.items()),
        ("kind",),
    ),
    Measure("gauge", "kubernetes_pods", "Pods that add_kubernetes_metadata knows now.", _kubernetes(lambda k: k.pods)),
    Measure(
        "counter",
        "kubernetes_lists",
        "Lists that the API server of Kubernetes gave: at the start, and when it forgot what was watched.",
        _kubernetes(lambda k: k.lists),
    ),
    Measure(
        "counter",
        "kubernetes_watch_events",
        "Changes of pods, namespaces and nodes that it sent.",
        _kubernetes(lambda k: k.events),
    ),
    Measure(
        "counter",
        "kubernetes_errors",
        "Requests to it that failed, by kind: connection, tls, timeout, unauthorized, forbidden (RBAC), expired (the "
        "version to watch from; it is listed again), throttled, server, refused, malformed, too_large.",
        _kubernetes_errors,
        ("kind",),
    ),
    Times(
        "produce_seconds",
        "Time of a batch from the hand-over to the output to its acknowledgement.",
        lambda s: s.produce,
    ),
    _gauge("output_reached", "1 if the output has answered once since the start.", lambda s: s.output.reached),
    _gauge(
        "output_failing",
        "1 while the newest report of the output is an error, and nothing was acknowledged since.",
        lambda s: s.output.failing,
    ),
    _gauge(
        "topics_waiting",
        "Topics that have refused records and taken none since, or give no answer about some; their files wait.",
        lambda s: len(s.output.waiting),
    ),
    _gauge("queue_events", "Events in the queue, those in flight included.", lambda s: s.queue.events),
    _gauge("queue_events_capacity", "Events that the queue takes.", lambda s: s.queue.most_events),
    _gauge("queue_bytes", "Bytes in the queue, those in flight included.", lambda s: s.queue.bytes),
    _gauge("queue_bytes_capacity", "Bytes that the queue takes.", lambda s: s.queue.most_bytes),
    *QUEUE_MEASURES,
    _gauge(
        "batches_in_flight",
        "Batches that were handed to the output and are not acknowledged.",
        lambda s: s.output.batches_in_flight,
    ),
    _gauge("lag_bytes", "Bytes of all files that are not acknowledged.", lambda s: s.behind),
    Measure(
        "gauge",
        "input_lag_bytes",
        "The same of the input's open files.",
        lambda s: (((i.id,), i.behind) for i in s.inputs),
        INPUT,
    ),
    Measure(
        "gauge",
        "file_lag_bytes",
        "The same of the 20 files furthest behind.",
        _of_files,
        ("path", "input"),
    ),
    _gauge(
        "oldest_unacknowledged_seconds",
        "Age of the oldest event that was read and is not acknowledged; 0 if there is none.",
        lambda s: s.oldest or 0,
    ),
    Measure(
        "gauge",
        "input_oldest_unacknowledged_seconds",
        "The same of the input.",
        lambda s: (((i.id,), i.oldest or 0) for i in s.inputs),
        INPUT,
    ),
    _gauge("files_open", "Files that are open.", lambda s: s.files_open),
    _gauge("files_waiting", "Files that wait to be opened, as too many are open.", lambda s: s.files_waiting),
    Measure(
        "gauge",
        "input_files_open",
        "Files of the input that are open.",
        lambda s: (((i.id,), i.files_open) for i in s.inputs),
        INPUT,
    ),
    _gauge("file_problems", "Files and directories that cannot be read.", lambda s: len(s.problems)),
    _gauge("registry_entries", "Entries of the registry: files that are remembered.", lambda s: s.registry.entries),
    Measure("counter", "registry_saves", "Saves of the registry, by result.", _saves, RESULT),
    Times(
        "registry_fsync_seconds", "Time that the disk took for an fsync of the registry.", lambda s: s.registry.fsync
    ),
    _gauge("registry_failing", "1 while positions cannot be saved.", lambda s: s.registry.failing),
    _gauge("watches", "Files and directories with a watch of the kernel.", lambda s: s.watches),
    _gauge(
        "watch_fallbacks",
        "Files and directories that are scanned from time to time, as there is no watch for them.",
        lambda s: s.watch_fallbacks,
    ),
    Measure("counter", "reloads", "Reloads of the configuration, by result.", _reloads, RESULT),
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
        "Time since the reading loop made progress: a step, or a file in a long one.",
        lambda s: s.silent,
    ),
)
# Of the process, and not of a snapshot.
START_TIME = ("start_time_seconds", "When the shipper started, in Unix time.")
INFO = ("info", "1, with the release and the name of the agent.")
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
    return "\n".join(("| metric | type | labels | what it is |", "|---|---|---|---|", *lines)) + "\n"


if __name__ == "__main__":
    print(documentation(), end="")  # noqa: T201 - this is the command's answer
