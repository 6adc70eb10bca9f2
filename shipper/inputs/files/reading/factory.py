"""Hold the inputs that are read, and make harvesters of their files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from log_shipper.config.text.encodings import encoded_terminator
from log_shipper.registry.state import FileState
from log_shipper.shipper.event import Constants, Doc, Source
from log_shipper.shipper.formats.record import file_member, members_of_file, owner_members
from log_shipper.shipper.inputs.configured import ConfiguredInput
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.content import Content
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.reading.file_reader import ReadPolicy, ReadSetup
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.reader import chain
from log_shipper.shipper.reader.base import RawFile, Reader
from log_shipper.shipper.reader.chain import max_timeout

OnSettled = Callable[[Harvester], None]


@dataclass(frozen=True, eq=False)
class Input(ConfiguredInput[InputConfig]):
    """An input that reads files."""

    spec: InputSpec = field(init=False)
    _shared: Doc = field(init=False)  # shared by all of its files, to save memory

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", InputSpec(self.config, self.comes_and_goes))
        object.__setattr__(self, "_shared", self.shared_members())

    def open(
        self,
        content: Content,
        state: FileState,
        *,
        once: bool,
        was: FileState | None = None,
        on_settled: OnSettled | None = None,
    ) -> Harvester:
        """Return a harvester that resumes at the state's position; with `once` it ends at the state's size. `was`: the
        entry to be proven first. Raises OSError."""
        joining = [parser for parser in self.config.parsers if parser.ends_after is not None]
        line_end = encoded_terminator(self.config.encoding, self.config.line_terminator)
        policy = ReadPolicy(
            None if once else max_timeout(joining),
            once,
            line_end=line_end,
            max_kept_bytes=self.max_bytes * (1 + len(joining)),
            resend_on_touch=self.config.prospector.scanner.resend_on_touch and not once,
        )
        shared = self._members(state, self._owner(content.fd))
        source = Source(
            file_id=state.id,
            path=state.path,
            inode=state.inode,
            device=state.device,
            input_id=self.config.id,
            input_type=self.config.type,
            constants=Constants(shared),
            process=self.process,
            counts=self.counts,
        )
        readers = partial(self._readers, shared=shared)
        setup = ReadSetup(source, readers, policy, self.clock, self.note, self.stage)
        return Harvester(content, state, setup, was=was, on_settled=on_settled)

    def _owner(self, fd: int) -> Doc:
        """Return the fields about the file's owner that the options ask for. Raises OSError."""
        wanted = self.config.include_file_owner_name, self.config.include_file_owner_group_name
        return owner_members(fd, owner=wanted[0], group=wanted[1]) if any(wanted) else {}

    def _members(self, state: FileState, owner: Doc) -> Doc:
        """Return the fields of all records of a file."""
        file = file_member(state.id, state.path, state.inode, state.device) | owner
        return members_of_file(self._shared, file)

    def _readers(self, file: RawFile, shared: Doc) -> Reader:
        return chain.build(self.config, file, self.max_bytes, self.clock, shared, self.metrics)


class ActiveInputs:
    """The inputs that are read now, replaced only here. `specs` is a view of them, by id, in the order of the
    configuration."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        self._inputs = {active.id: active for active in inputs}
        self._specs = {active.id: active.spec for active in inputs}
        self.specs: Mapping[str, InputSpec] = MappingProxyType(self._specs)

    def replace(self, inputs: list[Input]) -> set[str]:
        """Read these inputs from now on; return the ids of removed and changed ones."""
        stay = set(inputs)
        replaced = {input_id for input_id, active in self._inputs.items() if active not in stay}
        self._inputs = {active.id: active for active in inputs}
        self._specs.clear()
        self._specs.update({active.id: active.spec for active in inputs})
        return replaced

    def open(
        self, opened: OpenedFile, state: FileState, on_settled: OnSettled, *, once: bool, was: FileState | None = None
    ) -> Harvester:
        """Return the harvester of a file, by the configuration of its input. Raises OSError."""
        made_by = self._inputs[opened.spec.id]
        return made_by.open(opened.content, state, once=once, was=was, on_settled=on_settled)
