"""One configured input: its paths, and how a file of it is opened."""

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from config.model import InputConfig
from registry.state import FileState
from shipper.clock import Clock
from shipper.errors import StartError
from shipper.event import Source
from shipper.reader import chain
from shipper.reader.base import RawFile, Reader
from shipper.source.content import Content
from shipper.source.discover import Scanner, ScanOptions
from shipper.source.harvester import Harvester, ReadPolicy

OWN_MEMBERS = frozenset({"@timestamp", "message", "log", "input", "host", "agent", "ecs"})


@dataclass(frozen=True, eq=False)
class Input:
    """`max_bytes`: the longest message that is kept whole; `note` takes each new state of a file to the registrar."""

    config: InputConfig
    static_json: str
    max_bytes: int
    clock: Clock
    note: Callable[[FileState], None]

    @property
    def id(self) -> str:
        return self.config.id

    @property
    def paths(self) -> tuple[str, ...]:
        return self.config.paths

    @property
    def check_interval(self) -> float:
        return self.config.prospector.scanner.check_interval

    def scanner(self) -> Scanner:
        options = self.config.prospector.scanner
        return Scanner(
            self.paths,
            ScanOptions(options.exclude_files, options.include_files, options.symlinks, options.recursive_glob),
        )

    def open(self, content: Content, state: FileState, *, once: bool) -> Harvester:
        """A harvester that goes on at the state's position; with `once` it ends at the state's size."""
        timeouts = [parser.multiline.timeout for parser in self.config.parsers]
        policy = ReadPolicy(max(timeouts) if timeouts and not once else None, once)
        source = Source(
            file_id=state.id, path=state.path, inode=state.inode, device=state.device, input_id=self.config.id,
            input_type=self.config.type, static_json=self.static_json,
        )  # fmt: skip
        return Harvester(content, state, source, self._chain, policy, self.clock, self.note)

    def _chain(self, file: RawFile) -> Reader:
        return chain.build(self.config, file, self.max_bytes, self.clock)


def static_members(tags: tuple[str, ...], fields: dict[str, object], rooted: dict[str, object]) -> str:
    """The members of a record that the configuration fixes, as JSON text that starts with a comma, or empty.

    `fields` go below the member `fields`, `rooted` ones are members of the record itself. Raises StartError for those
    that cannot.
    """
    if taken := sorted(OWN_MEMBERS & rooted.keys()):
        # Two members of one name: most readers keep one of them, and the sink refuses the record.
        raise StartError(f"fields_under_root: every record has '{taken[0]}' already; give the field another name")
    members: dict[str, object] = {"tags": list(tags)} if tags else {}
    if fields:
        members["fields"] = fields
    members |= rooted
    try:
        return "," + orjson.dumps(members).decode()[1:-1] if members else ""
    except TypeError as error:
        raise StartError(f"fields: a value cannot be written as JSON: {error}") from error
