"""Define the options of `type: dead_letter`, which sends dead letters again."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.inputs import EveryInput


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterInput(FeedConfig):
    """The options of the input. `ids`: of the letters to send; all when empty."""

    since: ClassVar = "0.3"
    type: str = field(default="dead_letter", metadata={"doc": "The input type."})
    path: str = field(
        metadata={
            "doc": "Directory with the dead letters: path.data of this agent (`${path.data}`) or of another one.",
            "check": not_blank,
        }
    )
    interval: Duration = field(
        default=600.0,
        metadata={
            "doc": "How often all dead letters are sent again, including those that were rejected again.",
            "min": 1,
        },
    )
    ids: frozenset[str] = field(default=frozenset(), metadata={"key": None})

    @property
    def reads(self) -> tuple[str, ...]:
        return (f"dead letters in {self.path}",)

    def check(self) -> Iterator[Finding]:
        for option in dataclasses.fields(EveryInput):
            default = option.default if option.default_factory is dataclasses.MISSING else option.default_factory()
            if option.name != "enabled" and getattr(self, option.name) != default:
                yield option.name, "is not supported: dead letters are sent unchanged; remove it"
