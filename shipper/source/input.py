"""One configured input: its paths, and how a file of it is opened."""

from collections.abc import Callable
from dataclasses import dataclass

from config.model import InputConfig
from registry.state import FileState
from shipper.clock import Clock
from shipper.event import Batch, Constants, Doc, Source
from shipper.reader import chain
from shipper.reader.base import RawFile, Reader
from shipper.record import Agent, file_member, members
from shipper.source.content import Content
from shipper.source.discover import Scanner, ScanOptions
from shipper.source.harvester import Harvester, ReadPolicy


@dataclass(frozen=True, eq=False)
class Input:
    """`static`: the members that the configuration gives to each record; `max_bytes`: the longest message that is kept
    whole; `note` takes each new state of a file to the registrar; `process` is the chain of processors."""

    config: InputConfig
    agent: Agent
    static: Doc
    max_bytes: int
    clock: Clock
    note: Callable[[FileState], None]
    process: Callable[[Batch], None] | None = None

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
        timeouts = [parser.timeout for parser in self.config.parsers]
        policy = ReadPolicy(max(timeouts) if timeouts and not once else None, once)
        file = file_member(state.id, state.path, state.inode, state.device)
        constants = Constants(members(self.agent, self.config.type, self.config.id, file, self.static))
        source = Source(
            file_id=state.id, path=state.path, inode=state.inode, device=state.device, input_id=self.config.id,
            input_type=self.config.type, constants=constants, process=self.process,
        )  # fmt: skip
        return Harvester(content, state, source, self._chain, policy, self.clock, self.note)

    def _chain(self, file: RawFile) -> Reader:
        return chain.build(self.config, file, self.max_bytes, self.clock)
