"""The state of the agent at one moment, as immutable values: everything shown is derived from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from log_shipper.runtime.monitor.histogram import Distribution
from log_shipper.shipper.metrics import ContainerCounts, DiskQueueFigures, Metrics
from log_shipper.shipper.pipeline.letter_counts import LetterCount


@dataclass(frozen=True, slots=True)
class FileLag:
    """A file with unacknowledged bytes. `oldest`: age in seconds of its oldest batch in flight; None if there is
    none."""

    path: str
    input_id: str
    behind: int  # bytes
    oldest: float | None


@dataclass(frozen=True, slots=True)
class InputFigures:
    """An input; `oldest` as in FileLag, over all its files."""

    id: str
    type: str
    events_read: int
    bytes_read: int
    behind: int
    files_open: int
    oldest: float | None


@dataclass(frozen=True, slots=True)
class OutputFigures:
    """The output. `reached`: it has responded once; `problem`: the last error, while `failing`; `errors` by name;
    `waiting`: blocked topics, with the reason.
    """

    kind: str = ""
    reached: bool = False
    failing: bool = False
    problem: str = ""
    errors: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)
    batches_in_flight: int = 0


@dataclass(frozen=True, slots=True)
class QueueFigures:
    events: int
    max_events: int
    bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class RegistryFigures:
    entries: int
    saved: int
    failed: int
    failing: bool
    fsync: Distribution


@dataclass(frozen=True, slots=True)
class KubernetesFigures:
    """The activity of all API server watches since the start; `pods` are known now, `errors` by kind."""

    pods: int
    lists: int
    events: int
    errors: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The file system of path.data, in bytes."""

    free: int
    size: int
    is_low: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The agent. `time` is unix time, `monotonic` for differences. `files`: the 20 furthest behind; `behind`: bytes of
    all files; `oldest` as in FileLag, of all files. `silent`: seconds since the reading loop made progress. `reads`:
    number of reads. `events_published`: events that the processors have finished and not dropped, since the start.
    """

    time: float
    monotonic: float
    metrics: Metrics
    events_published: int
    inputs: Sequence[InputFigures]
    files: Sequence[FileLag]
    files_open: int
    files_waiting: int
    reads: int
    behind: int
    oldest: float | None
    problems: Mapping[str, str]
    watches: int
    watch_fallbacks: int
    output: OutputFigures
    produce: Distribution
    queue: QueueFigures
    registry: RegistryFigures
    letters: Sequence[LetterCount]
    letters_waiting: int
    reloads_ok: int
    reloads_failed: int
    is_reload_refused: bool
    silent: float
    disk: DiskSpace | None
    kubernetes: KubernetesFigures | None = None
    containers: ContainerCounts | None = None  # none without autodiscover
    disk_queue: DiskQueueFigures | None = None  # none without a queue on disk
    refused_for_containers: Sequence[str] = ()  # current problems
