"""add_process_metadata: the process that an event refers to by its id."""

from collections.abc import Callable, Sequence
from pathlib import Path as FilePath

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors.host_metadata import AddProcessMetadataConfig
from log_shipper.shipper.processor.base import ProcessorContext, ProcessorError
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, Path, find, path_of
from log_shipper.shipper.processor.metadata.facts import Sharing, all_lack
from log_shipper.shipper.processor.metadata.proc import CONTAINER_ID, container_of, describe, last_group

MOST_CACHED = 10_000


class AddProcessMetadata:
    """The metadata of a process is cached for a limited time, because ids of processes are reused."""

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
            raise ProcessorError("all of the fields in match_pids are missing")

    def _enrich(self, event: Event, pid: int) -> None:
        known = self._of(pid)
        if not known:
            raise ProcessorError(f"there is no process {pid}")
        fields = [(target, value) for source, target in self._fields if (value := find(known, source)) is not MISSING]
        if not self._overwrites:
            for target, _ in fields:
                if event.get(target) is not MISSING:
                    raise ProcessorError(f"{'.'.join(target)} exists already; overwrite_keys replaces it")
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
            while len(self._known) >= MOST_CACHED:
                del self._known[next(iter(self._known))]
            if known:
                self._known[pid] = now + self._ttl, known
        return known


def _placed(target: Path, field: Path) -> Path:
    """Return where a field is written: below `parent`, the fields of a process have no `process` before them."""
    return (*target, *(field[1:] if target[-1:] == ("parent",) and field[0] == "process" else field))


def _number(path: Path, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value) if isinstance(value, str) else int("")
    except ValueError:
        raise ProcessorError(f"{'.'.join(path)} is not the id of a process: {value!r}") from None


def _finder(config: AddProcessMetadataConfig) -> Callable[[str], str]:
    """Return a function from a control group to the id of the container, or nothing."""
    if config.cgroup_prefixes:
        prefixes = config.cgroup_prefixes
        return lambda group: group.rpartition("/")[2] if group.startswith(prefixes) else ""
    return last_group(config.cgroup_regex or CONTAINER_ID)
