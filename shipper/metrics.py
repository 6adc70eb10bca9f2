"""The metrics of the agent, also the content of the summary line."""

from dataclasses import dataclass

from log_shipper.runtime.monitor.histogram import Distribution


@dataclass(slots=True)
class Metrics:
    """Counters since the start, and current values marked `now`; written by the reading thread only."""

    events_read: int = 0  # messages that came out of the reader chains
    events_acked: int = 0  # delivered and acknowledged by the output
    events_dead_lettered: int = 0  # rejected permanently, saved in dead_letter.ndjson
    events_filtered: int = 0  # dropped on purpose: by a processor, or by a reader before they count as read
    processor_failures: int = 0  # events that a parser or processor could not process; the reason is in error.message
    metadata_timeouts: int = 0  # events that waited for metadata of their container or machine as long as they may
    events_truncated: int = 0  # events whose message was cut to message_max_bytes
    events_split: int = 0  # events that were sent in parts because of output.kafka.max_message_bytes
    messages_cut_short: int = 0  # messages that were ended early because of what is pending
    bytes_read: int = 0  # raw bytes that became events or were dropped on purpose
    bytes_acked: int = 0  # raw bytes of resolved batches
    bytes_lost: int = 0  # raw bytes that could not be shipped: truncation, removed files, received and not kept
    records_lost: int = 0  # records that Kafka had deleted before an input of type kafka read them
    letters_resent: int = (
        0  # dead letters that an input of type dead_letter has sent again: delivered, or refused again
    )
    transactions_committed: int = 0  # with delivery: exactly_once
    transactions_aborted: int = 0  # and repeated with the same records
    batches_retried: int = 0  # sent again after a failed report
    topics_waiting: int = 0  # now: topics that have refused records, or give no answer; their files wait
    harvesters_started: int = 0  # files opened
    harvesters_closed: int = 0  # files closed
    files_truncated: int = 0  # files that were truncated or rewritten while they were read
    requests_accepted: int = 0  # of type: http, answered with success: all of their events are delivered or on disk
    requests_refused: int = 0  # answered with what is wrong with them (4xx)
    requests_postponed: int = 0  # answered with 503 or 504: to be sent again
    journal_entries_lost: int = 0  # entries of the journal that were deleted before they were read, or were too large
    journalctl_failures: int = 0  # how often a journalctl ended, or could not be started
    files_missed: int = 0  # files, or targets of links, that were replaced before they were seen
    files_resent: int = 0  # files that were sent again because they were touched (resend_on_touch)
    datagrams_dropped: int = 0  # by the kernel, as the buffer of a socket was full
    connections_refused: int = 0  # beyond max_connections, or without a free descriptor
    handshakes_failed: int = 0  # of TLS
    connections_timed_out: int = 0  # closed because nothing came for `timeout`
    framing_errors: int = 0  # connections that were closed because their bytes make no messages
    messages_unfinished: int = 0  # that came over a connection which ended within them
    messages_oversized: int = 0  # longer than max_message_size of an input that listens, and truncated


@dataclass(slots=True)
class ContainerCounts:
    """The counts of autodiscover.

    Current: `containers`, `inputs` for them, and inputs that are `ending` because their container has ended. Since the
    start: `events` of containers, `refused` configurations, and hints that were `left_out`.
    """

    containers: int = 0
    inputs: int = 0
    ending: int = 0
    events: int = 0
    refused: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class DiskQueueFigures:
    """The state of the queue on disk.

    Current: `bytes` of its `segments` and their maximum (0: no limit); events and bytes of messages that are on disk
    only. Since the start: events written, read back, and lost by damage. `problem`: why it cannot be written;
    `watermark`: the highest one reached, from 0 (none) to 3.
    """

    bytes: int
    max_bytes: int
    segments: int
    waiting_events: int
    waiting_bytes: int
    events_written: int
    events_read: int
    events_lost: int
    problem: str
    is_full: bool
    watermark: int
    fsync: Distribution
