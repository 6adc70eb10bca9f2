"""`add_docker_metadata`: metadata of the container that a log belongs to, from Docker or from Docker's files on the
host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.formats.json_fields import copied, labelled
from log_shipper.shipper.options.docker import DEFAULT_HOST, HOST, SSL, DockerTlsConfig, check_access
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import Path, path_of
from log_shipper.shipper.processor.metadata.facts import Facts, Sharing, all_lack, leaves
from log_shipper.shipper.processor.metadata.proc import container_of, last_group
from log_shipper.shipper.processor.metadata.runtime_files import FULL_ID, SHORT_ID, RuntimeContainer, RuntimeFiles

if TYPE_CHECKING:
    from log_shipper.shipper.docker.containers import DockerContainer
    from log_shipper.shipper.docker.watcher import Watcher

_STARTS_WITHOUT = (
    "not needed: the agent starts without Docker and retries; the first events of a container wait up to 1 s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDockerMetadataConfig(ProcessorConfig):
    """Adds metadata of the Docker container that an event comes from."""

    name: ClassVar = "add_docker_metadata"
    example: ClassVar = "add_docker_metadata: {match_fields: [container.id], labels.dedot: false}"
    ignored: ClassVar = {"tls": "it is named ssl"} | dict.fromkeys(
        ("wait_for_metadata", "wait_for_metadata_timeout", "wait_for_metadata_retry_period"), _STARTS_WITHOUT
    )
    host: str = field(default=DEFAULT_HOST, metadata=HOST)
    ssl: DockerTlsConfig | None = field(default=None, metadata=SSL)
    match_source: bool = field(
        default=True, metadata={"doc": "Whether the container id is taken from the path of the log file."}
    )
    match_source_index: int = field(
        default=4,
        metadata={
            "doc": "The index of the id among the parts of the path, from 0; 4 fits Docker's own log files.",
            "min": 0,
        },
    )
    match_short_id: bool = field(
        default=False, metadata={"doc": "Whether the path may contain a short id, of 12 characters or more."}
    )
    match_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Fields that may contain the container id."})
    match_pids: tuple[str, ...] = field(
        default=("process.pid", "process.parent.pid"),
        metadata={"doc": "Fields with the id of a process that runs in the container."},
    )
    hostfs: str = field(default="/", metadata={"doc": "The mount point of the host's file system.", "check": not_blank})
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long metadata of a deleted container is kept after its last event."}
    )
    dedot: bool = field(
        default=True,
        metadata={"key": "labels.dedot", "doc": "Whether dots in label names are replaced by underscores."},
    )

    def check(self) -> Iterator[Finding]:
        yield from check_access(self.host, self.ssl)

    def build(self, context: ProcessorContext) -> Processor:
        return AddDockerMetadata(self, context)


LOG_PATH: Path = ("log", "file", "path")
LOG_FILE = frozenset({"log.file"})
MAX_CACHED = 10_000
MAX_PID_DIGITS = 10
PID_CACHED_FOR = 30.0  # seconds; ids of processes are reused
# Seconds that events wait: at the start, for the first list of all containers; and then for one that is not known, as
# its log is there some milliseconds before Docker reports it.
LIST_PATIENCE = 2.0
CONTAINER_PATIENCE = 1.0


class AddDockerMetadata:
    def __init__(self, config: AddDockerMetadataConfig, context: ProcessorContext) -> None:
        self._config = config
        self._files = RuntimeFiles(FilePath(config.hostfs), context.clock, config.cleanup_timeout)
        self._sharing = Sharing(config.name, frozenset({"log.file", "container"}), context.metrics)
        self._pids = [path_of(name) for name in config.match_pids]
        self._fields = [path_of(name) for name in config.match_fields]
        self._proc = FilePath(config.hostfs) / "proc"
        self._in_group = last_group()
        self._shape = SHORT_ID if config.match_short_id else FULL_ID
        self._facts: dict[str, tuple[RuntimeContainer | DockerContainer | None, Facts]] = {}
        self._of_pid: dict[int, tuple[float, str]] = {}
        self._clock = context.clock
        self._watcher = _watcher(config, context)
        self._started = self._clock.monotonic()
        self._unknown: dict[str, float] = {}  # since when, by id

    def waits_until(self, batch: Batch) -> float:
        watcher = self._watcher
        if watcher is None:
            return 0.0
        if not watcher.attempted:
            return self._started + LIST_PATIENCE
        path = batch.source.path
        identity = self._of_path(path) if watcher.connected else ""
        if not identity or self._container(identity, path) is not None:
            return 0.0
        if len(self._unknown) >= MAX_CACHED:
            self._unknown.clear()
        return self._unknown.setdefault(identity, self._clock.monotonic()) + CONTAINER_PATIENCE

    def run(self, events: Events, indices: Sequence[int]) -> None:
        path = events.get(indices[0], LOG_PATH)
        identity = self._of_path(path)
        if identity and self._sharing.shared(events, indices):
            facts = self._known(identity, path)
            self._sharing.run(events, indices, facts, lambda event: _write(event, facts))
        elif identity or not all_lack(events, indices, (*self._pids, *self._fields)) or events.shadows(LOG_FILE):
            self._sharing.event_by_event(events, indices, self._enrich)

    def _enrich(self, event: Event) -> None:
        path = event.get(LOG_PATH)
        identity = self._of_path(path) or self._of_process(event)
        if identity:
            _write(event, self._known(identity, path))
            return
        for name in self._fields:
            value = event.get(name)
            if isinstance(value, str):
                if SHORT_ID.fullmatch(value) and self._container(value, "") is not None:
                    _write(event, self._known(value, ""))
                return

    def _of_path(self, path: Any) -> str:
        if not self._config.match_source or not isinstance(path, str):
            return ""
        parts = [part for part in path.split("/") if part]
        index = self._config.match_source_index
        identity = parts[index] if index < len(parts) else ""
        return identity if self._shape.fullmatch(identity) else ""

    def _of_process(self, event: Event) -> str:
        for name in self._pids:
            pid = str(event.get(name))
            if len(pid) <= MAX_PID_DIGITS and pid.isdecimal() and (identity := self._in_process(int(pid))):
                return identity
        return ""

    def _in_process(self, pid: int) -> str:
        now = self._clock.monotonic()
        expires, identity = self._of_pid.get(pid, (0.0, ""))
        if now >= expires:
            identity = container_of(self._proc, pid, self._in_group)
            if len(self._of_pid) >= MAX_CACHED:
                self._of_pid.clear()
            self._of_pid[pid] = now + PID_CACHED_FOR, identity
        return identity

    def _container(self, identity: str, path: str) -> RuntimeContainer | DockerContainer | None:
        """Return the metadata of a container. Docker's answer takes precedence over files: it is newer, and cannot be
        forged by a user who can write to the path."""
        known = self._watcher.container(identity) if self._watcher is not None else None
        return known or self._files.container(identity, path)

    def _known(self, identity: str, path: Any) -> Facts:
        container = self._container(identity, path if isinstance(path, str) else "")
        before = self._facts.get(identity)
        if before is not None and before[0] is container:
            return before[1]
        if len(self._facts) >= MAX_CACHED:
            self._facts.clear()
        members = self._members(identity, container)
        facts = before[1] if before is not None and before[1].members == members else Facts(self._sharing, members)
        self._facts[identity] = container, facts
        return facts

    def _members(self, identity: str, container: RuntimeContainer | DockerContainer | None) -> Doc:
        if container is None:
            return {"id": identity}
        members: Doc = {"id": container.id}
        if container.image:
            members["image"] = {"name": container.image}
        if container.name:
            members["name"] = container.name
        if container.labels:
            members["labels"] = labelled(container.labels, dedot=self._config.dedot)
        return members


def _watcher(config: AddDockerMetadataConfig, context: ProcessorContext) -> Watcher | None:
    """Return the running watcher of this Docker daemon; None without `host`. Raises StartError."""
    if not config.host:
        return None
    # Imported here: they bring http.client and ssl.
    from log_shipper.shipper.docker.client import DockerClient
    from log_shipper.shipper.docker.place import place_of
    from log_shipper.shipper.docker.watcher import Waking, Watcher

    def watch() -> Watcher:
        client = DockerClient(place_of(config.host, config.ssl), context.clock)
        watcher = Watcher(client, context.clock, config.cleanup_timeout, Waking(context.wake))
        watcher.start()
        return watcher

    return context.services.shared((config.name, config.host, config.ssl, config.cleanup_timeout), watch)


def _write(event: Event, facts: Facts) -> None:
    for path, value in leaves(facts.members, ("container",)):
        event.put(path, copied(value))
