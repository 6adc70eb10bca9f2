"""Common options of feeds: inputs that read no files."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Self

from log_shipper.config.text.units import Size
from log_shipper.shipper.options.input_ids import derived_id, own_id
from log_shipper.shipper.options.inputs import MESSAGE_LIMIT, EveryInput, InputConfig
from log_shipper.shipper.reader.base import ParserConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedConfig(EveryInput, ABC):
    """Base of feeds; each type has its own class, whose `type` holds the name."""

    type: str = field(default="", metadata={"doc": "The input type."})
    id: str = field(
        default="",
        metadata={
            "doc": "Unique id; positions are stored under it. By default derived from the source.",
            "check": own_id,
        },
    )
    message_max_bytes: Size = field(default=10 * 1024**2, metadata=MESSAGE_LIMIT)

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """Return the source, such as "udp 0.0.0.0:514", for messages and for deriving an id."""

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        """Return the parsers of messages; a type that supports the option has a field of this name."""
        return ()

    @property
    def derived_id(self) -> str:
        return derived_id(self.type, self.reads)

    def converted(self) -> Self:
        return replace(self, id=self.id or self.derived_id)


AnyInput = InputConfig | FeedConfig


def files_of(inputs: Iterable[AnyInput]) -> Iterator[tuple[int, InputConfig]]:
    """Yield the inputs that read files, with their index in the list."""
    for index, item in enumerate(inputs):
        if isinstance(item, InputConfig):
            yield index, item


def feeds_of(inputs: Iterable[AnyInput]) -> Iterator[tuple[int, FeedConfig]]:
    """Yield the inputs that read no files, with their index in the list."""
    for index, item in enumerate(inputs):
        if isinstance(item, FeedConfig):
            yield index, item
