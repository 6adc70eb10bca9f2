"""Builders of the values that many tests start from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Constants, Doc, Messages, Rejection, Source
from log_shipper.shipper.formats.record import Agent, file_member, members_of_file, members_of_input
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.reader.base import ParserConfig, ParserContext, Reader
from tests.fakes import ManualClock

AGENT = Agent("web-1", "web-1", "agent-1", "0.1.0")


def nothing() -> None:
    pass


def members(agent: Agent, input_type: str, input_id: str, file: Doc, static: Doc) -> Doc:
    """Return the members shared by the records of a file."""
    return members_of_file(members_of_input(agent, input_type, input_id, static), file)


def source(
    file_id: str = "f1", path: str = "/var/log/app.log", static: Doc | None = None, agent: Agent = AGENT
) -> Source:
    shared = members(agent, "filestream", "app", file_member(file_id, path, 811, 2049), static or {})
    return Source(file_id, path, 811, 2049, "app", "filestream", Constants(shared))


def messages(texts: Sequence[str], start: int = 0) -> Messages:
    """Return a run with one line for each text, from byte `start` on."""
    run = Messages(start, start)
    for text in texts:
        length = len(text.encode()) + 1
        run.append(text, run.end, length)
        run.end += length
    return run


def batch(
    texts: Sequence[str], file_id: str = "f1", start: int = 0, resolve: Callable[[], None] = nothing, time: float = 0.0
) -> Batch:
    return Batch(source(file_id), messages(texts, start), time, resolve)


def encoder(max_bytes: int = 2**31) -> Encoder:
    return Encoder(max_bytes)


def multiline(
    pattern: str, *, negate: bool = False, match: Literal["after", "before"] = "after", max_lines: int = 500
) -> ParserConfig:
    return MultilineConfig(pattern=pattern, negate=negate, match=match, max_lines=max_lines, timeout=5.0)


def input_config(*parsers: ParserConfig, paths: tuple[str, ...] = ("*.log",)) -> InputConfig:
    return InputConfig(id="app", paths=paths, parsers=parsers)


@dataclass
class RecordedDeliveries:
    """The `TransactionDeliveries` of a test: what was reported to it, in order."""

    batches: list[Batch] = field(default_factory=list)
    rejections: dict[Batch, list[Rejection]] = field(default_factory=dict)
    refuses_saving: bool = False
    lost: list[Batch] = field(default_factory=list)

    def delivered(self, batch: Batch, rejected: Sequence[Rejection], *, are_saved: bool = False) -> None:
        self.batches.append(batch)
        if rejected:
            self.rejections[batch] = list(rejected)
        batch.resolve()

    def save_rejected(self, batch: Batch, rejected: Sequence[Rejection]) -> bool:
        return not self.refuses_saving

    def given_up(self, batch: Batch) -> None:
        self.lost.append(batch)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch.messages.texts]


def source_status(bytes_behind: int) -> SourceStatus:
    """Return the status with two open files that are being read, nothing waiting and no problem."""
    return SourceStatus(
        files_open=2,
        reading=2,
        unsettled=0,
        waiting=0,
        bytes_waiting=0,
        bytes_behind=bytes_behind,
        is_size_known=True,
        problems={},
    )


class Surroundings:
    """What a source finds around it: room, and nothing that holds it up."""

    has_room = True
    devices_over_flood_mark: frozenset[int] = frozenset()
    knows_all = True

    def takes_more(self, source: Source) -> bool:
        return True

    def beat(self) -> None: ...


def source_context(
    registrar: object,
    clock: Clock,
    metrics: Metrics | None = None,
    *,
    once: bool = False,
    around: Surroundings | None = None,
) -> SourceContext:
    """`registrar`: a Registrar, what stands in for one, or None where no entry is noted."""
    around = around or Surroundings()
    noting = cast("Registrar", registrar)
    return SourceContext(noting, clock, metrics or Metrics(), once, around, around, around)


def parsed(
    reader: Reader,
    parser: ParserConfig,
    clock: Clock | None = None,
    max_bytes: int = 1000,
    *,
    shared: Doc | None = None,
    metrics: Metrics | None = None,
    keep_null: bool = False,
    of_first_line: tuple[str, ...] = ("@timestamp",),
) -> Reader:
    """Return the parser on a reader."""
    context = ParserContext(
        max_bytes, clock or ManualClock(), shared or {}, metrics or Metrics(), of_first_line, keep_null
    )
    return parser.build(reader, context)
