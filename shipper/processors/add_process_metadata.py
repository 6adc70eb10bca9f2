"""`add_process_metadata`: adds metadata of the process that an event refers to by id."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.patterns import Pattern
from log_shipper.config.text.units import Duration
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext, ProcessorError
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, Path, find, path_of
from log_shipper.shipper.processor.metadata.facts import Sharing, all_lack
from log_shipper.shipper.processor.metadata.proc import CONTAINER_ID, container_of, describe, last_group

PROCESS_FIELDS = (
    "process.name",
    "process.title",
    "process.executable",
    "process.args",
    "process.pid",
    "process.parent.pid",
    "process.start_time",
    "process.owner.name",
    "process.owner.id",
    "container.id",
)
RESTRICTED_FIELDS = ("process.env",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProcessMetadataConfig(ProcessorConfig):
    """Adds metadata of a running process, found by its id."""

    name: ClassVar = "add_process_metadata"
    example: ClassVar = "add_process_metadata: {match_pids: [pid], include_fields: [process.name, container.id]}"
    match_pids: tuple[str, ...] = field(
        default=("process.pid", "process.parent.pid"),
        metadata={"doc": "Fields with a process id; the first existing one is used."},
    )
    target: str = field(
        default="", metadata={"doc": "The object that the fields are added to; the event itself when absent."}
    )
    include_fields: tuple[str, ...] = field(
        default=("process", "container"),
        metadata={"doc": "The fields to add: single fields, or all of `process` or `container`."},
    )
    ignore_missing: bool = field(
        default=True, metadata={"doc": "Whether an event without any field of match_pids is skipped without an error."}
    )
    overwrite_keys: bool = field(
        default=False,
        metadata={
            "doc": "Whether existing fields are overwritten; when false, an existing field is an error and "
            "nothing is added."
        },
    )
    restricted_fields: bool = field(
        default=False, metadata={"doc": "Whether process.env may be added, which often contains secrets."}
    )
    host_path: str = field(
        default="/", metadata={"doc": "The mount point of the host's file system, with /proc.", "check": not_blank}
    )
    cgroup_prefixes: tuple[str, ...] = field(
        default=(), metadata={"doc": "Prefixes of control group paths whose last part is the container id."}
    )
    cgroup_regex: Pattern | None = field(
        default=None,
        metadata={"doc": "A regular expression for the path of a control group; its group is the container id."},
    )
    cgroup_cache_expire_time: Duration = field(
        default=30.0, metadata={"doc": "How long metadata of a process is cached."}
    )

    def check(self) -> Iterator[Finding]:
        known = (*PROCESS_FIELDS, *(RESTRICTED_FIELDS if self.restricted_fields else ()))
        for index, wanted in enumerate(self.include_fields):
            if not any(name == wanted or name.startswith(f"{wanted}.") for name in known):
                restricted = wanted in RESTRICTED_FIELDS
                hint = "it needs restricted_fields: true" if restricted else f"known: {', '.join(known)}"
                yield f"include_fields[{index}]", f"unknown field {wanted!r}; {hint}"
        if not self.match_pids:
            yield "match_pids", "must not be empty"
        if self.cgroup_regex is not None and self.cgroup_prefixes:
            yield "cgroup_regex", "set either this or cgroup_prefixes"

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields to add, relative to `target`."""
        known = (*PROCESS_FIELDS, *(RESTRICTED_FIELDS if self.restricted_fields else ()))
        wanted = self.include_fields
        return tuple(
            name for name in known if any(name == prefix or name.startswith(f"{prefix}.") for prefix in wanted)
        )

    def build(self, context: ProcessorContext) -> Processor:
        return AddProcessMetadata(self, context)


MAX_CACHED = 10_000


class AddProcessMetadata:
    """Caches metadata for a limited time, because process ids are reused."""

    def __init__(self, config: AddProcessMetadataConfig, context: ProcessorContext) -> None:
        target = path_of(config.target) if config.target else ()
        self._pids = [path_of(name) for name in config.match_pids]
        self._fields = [(path_of(name), _placed(target, path_of(name))) for name in config.fields]
        self._ignores_missing = config.ignore_missing
        self._overwrites = config.overwrite_keys
        self._proc = FilePath(config.host_path) / "proc"
        self._container = _finder(config)
        self._with_environment = config.restricted_fields
        self._clock = context.clock
        self._ttl = config.cgroup_cache_expire_time
        self._known: dict[int, tuple[float, Doc]] = {}
        self._sharing = Sharing(config.name, frozenset(), context.metrics)

    def run(self, events: Events, indices: Sequence[int]) -> None:
        if not self._ignores_missing or not all_lack(events, indices, self._pids):
            self._sharing.event_by_event(events, indices, self._apply)

    def _apply(self, event: Event) -> None:
        for path in self._pids:
            value = event.get(path)
            if value is not MISSING:
                self._enrich(event, _number(path, value))
                return
        if not self._ignores_missing:
            raise ProcessorError("all fields of match_pids are missing")

    def _enrich(self, event: Event, pid: int) -> None:
        known = self._of(pid)
        if not known:
            raise ProcessorError(f"process {pid} does not exist")
        fields = [(target, value) for source, target in self._fields if (value := find(known, source)) is not MISSING]
        if not self._overwrites:
            for target, _ in fields:
                if event.get(target) is not MISSING:
                    raise ProcessorError(f"{'.'.join(target)} already exists; set overwrite_keys to replace it")
        for target, value in fields:
            event.put(target, copied(value))

    def _of(self, pid: int) -> Doc:
        now = self._clock.monotonic()
        expires, known = self._known.get(pid, (0.0, {}))
        if now >= expires:
            known = describe(self._proc, pid, environment=self._with_environment)
            if container := container_of(self._proc, pid, self._container):
                known["container"] = {"id": container}
            self._known.pop(pid, None)
            while len(self._known) >= MAX_CACHED:
                del self._known[next(iter(self._known))]
            if known:
                self._known[pid] = now + self._ttl, known
        return known


def _placed(target: Path, field: Path) -> Path:
    """Return the path to write a field to: below a target `parent`, process fields have no leading `process`."""
    return (*target, *(field[1:] if target[-1:] == ("parent",) and field[0] == "process" else field))


def _number(path: Path, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value) if isinstance(value, str) else int("")
    except ValueError:
        raise ProcessorError(f"{'.'.join(path)} is not a process id: {value!r}") from None


def _finder(config: AddProcessMetadataConfig) -> Callable[[str], str]:
    """Return a function that finds the container id in the path of a control group, or returns an empty string."""
    if config.cgroup_prefixes:
        prefixes = config.cgroup_prefixes
        return lambda group: group.rpartition("/")[2] if group.startswith(prefixes) else ""
    return last_group(config.cgroup_regex or CONTAINER_ID)
