"""The processor that adds metadata of the Docker container that an event belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration
from log_shipper.shipper.options.docker import DEFAULT_HOST, HOST, SSL, DockerTlsConfig, check_access
from log_shipper.shipper.options.processors.base import ProcessorConfig

_STARTS_WITHOUT = "the agent starts without Docker, and asks it again; the first events of a container wait up to 1 s"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDockerMetadataConfig(ProcessorConfig):
    """Adds metadata of the Docker container that an event belongs to."""

    name: ClassVar = "add_docker_metadata"
    ignored: ClassVar = {"tls": "it is named ssl"} | dict.fromkeys(
        ("wait_for_metadata", "wait_for_metadata_timeout", "wait_for_metadata_retry_period"), _STARTS_WITHOUT
    )
    host: str = field(default=DEFAULT_HOST, metadata=HOST)
    ssl: DockerTlsConfig | None = field(default=None, metadata=SSL)
    match_source: bool = field(
        default=True, metadata={"doc": "Whether the container's id is taken from the path of the log file."}
    )
    match_source_index: int = field(
        default=4,
        metadata={"doc": "Which part of the path is the id, from 0; 4 fits Docker's own log files.", "min": 0},
    )
    match_short_id: bool = field(
        default=False, metadata={"doc": "Whether the path may contain only the first 12 characters of the id."}
    )
    match_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Fields that may contain the container's id."})
    match_pids: tuple[str, ...] = field(
        default=("process.pid", "process.parent.pid"),
        metadata={"doc": "Fields with the id of a process in the container."},
    )
    hostfs: str = field(default="/", metadata={"doc": "Where the host's file system is mounted.", "check": not_blank})
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long the metadata of a deleted container is kept after its last event."}
    )
    dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in names of labels by underscores."}
    )

    def check(self) -> Iterator[Finding]:
        yield from check_access(self.host, self.ssl)
