"""One configured input: its paths, and how a file of it is opened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from config.shipper.model import InputConfig
from config.shipper.multiline import MultilineConfig
from config.shipper.parsers import ContainerConfig
from config.text.encodings import encoded_terminator, padding_unit
from registry.state import FileState
from shipper.clock import Clock
from shipper.event import Constants, Doc, Process, Source
from shipper.metrics import Metrics
from shipper.reader import chain
from shipper.reader.base import RawFile, Reader
from shipper.record import Agent, file_member, members
from shipper.source.discovery.scanner import Scanner, ScanOptions
from shipper.source.identity.content import Content, content_of
from shipper.source.reading.file_reader import ReadPolicy
from shipper.source.reading.harvester import Harvester


@dataclass(frozen=True, eq=False)
class Input:
    """`static`: the members that the configuration gives to each record; `max_bytes`: the longest message that is kept
    whole; `note` takes each new state of a file to the registrar; `process` is the chain of processors; `metrics`
    counts what the readers drop on purpose."""

    config: InputConfig
    agent: Agent
    static: Doc
    max_bytes: int
    clock: Clock
    note: Callable[[FileState], None]
    process: Process | None = None
    metrics: Metrics = field(default_factory=Metrics)

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

    def content(self, fd: int, path: str = "") -> Content:
        """What an open file holds. Raises OSError."""
        unit = padding_unit(self.config.encoding, self.config.line_terminator)
        return content_of(fd, self.config.compression, path, unit)

    def open(self, content: Content, state: FileState, *, once: bool, was: FileState | None = None) -> Harvester:
        """A harvester that goes on at the state's position; with `once` it ends at the state's size. `was`: the entry
        that is to be proven first. Raises OSError."""
        joining = [each for each in self.config.parsers if isinstance(each, MultilineConfig | ContainerConfig)]
        timeouts = [parser.ends_after for parser in joining]
        line_end = encoded_terminator(self.config.encoding, self.config.line_terminator)
        policy = ReadPolicy(
            max(timeouts) if timeouts and not once else None, once, line_end=line_end,
            most_kept=self.max_bytes * (1 + len(joining)),
        )  # fmt: skip
        shared = self._members(state)
        source = Source(
            file_id=state.id, path=state.path, inode=state.inode, device=state.device, input_id=self.config.id,
            input_type=self.config.type, constants=Constants(shared), process=self.process,
        )  # fmt: skip
        readers = partial(self._readers, shared=shared)
        return Harvester(content, state, source, readers, policy, self.clock, self.note, was=was)

    def _members(self, state: FileState) -> Doc:
        """What all records of a file have."""
        file = file_member(state.id, state.path, state.inode, state.device)
        shared = members(self.agent, self.config.type, self.config.id, file, self.static)
        if self.config.publisher_pipeline.disable_host:
            del shared["host"]
        return shared

    def _readers(self, file: RawFile, shared: Doc) -> Reader:
        return chain.build(self.config, file, self.max_bytes, self.clock, shared, self.metrics)
