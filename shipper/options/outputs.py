"""Where the shipper sends: exactly one of the sections of `output`."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.report import Examination
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.conditions import ConditionConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What all outputs have, and what the configuration asks of the one that is enabled; `outputs/base.py` has what the
    agent asks of it."""

    is_stdout: ClassVar = False  # it writes to standard output
    enabled: bool = field(default=True, metadata={"doc": "Whether this output is used."})

    @property
    def commits_positions(self) -> bool:
        """True if positions are committed with the records."""
        return False

    @property
    def brokers(self) -> tuple[str, ...]:
        """Return the brokers of Kafka that it sends to."""
        return ()

    @property
    def fixed_topics(self) -> set[str]:
        """Return the topics that records may be sent to, but for those that depend on the event."""
        return set()

    def files(self) -> Sequence[str]:
        """Return the paths that it writes."""
        return ()

    def conditions(self) -> Iterator[tuple[str, ConditionConfig]]:
        """Yield its conditions on events, each with the dotted path in the section."""
        return iter(())

    def message_limit(self, wanted: int) -> int:
        """Return the most bytes that a message may have: no more than can be sent, which would only be cut later."""
        return wanted

    def examine(self) -> Examination:
        """Return what is wrong with what the options name. Nothing is connected to."""
        return Examination()


_MODULES = "log_shipper.shipper.outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    not_yet: ClassVar = filebeat.OUTPUT_NOT_YET
    explain: ClassVar = tuple(filebeat.OUTPUT_NOT_YET)
    kafka: OutputOptions | None = field(
        default=None, metadata={"doc": "A Kafka topic.", "model": f"{_MODULES}.kafka:KafkaOutput"}
    )
    console: OutputOptions | None = field(
        default=None,
        metadata={
            "doc": "Standard output, one JSON record per line.",
            "model": f"{_MODULES}.console:ConsoleOutputConfig",
        },
    )
    file: OutputOptions | None = field(
        default=None,
        metadata={"doc": "A file, one JSON record per line, fsynced.", "model": f"{_MODULES}.file:FileOutputConfig"},
    )

    @property
    def chosen(self) -> OutputOptions:
        """Return the enabled output; a section with `enabled: false` stays in its attribute."""
        return next(iter(self._enabled().values()))

    @property
    def kind(self) -> str:
        """Return the name of the enabled output's section."""
        return next(iter(self._enabled()))

    def check(self) -> Iterator[Finding]:
        enabled = list(self._enabled())
        if not enabled:
            names = ", ".join(f"output.{member.name}" for member in dataclasses.fields(self))
            yield "", f"no output is enabled; enable exactly one of {names}"
        for name in enabled[1:]:
            yield name, f"output.{enabled[0]} is enabled too; enable exactly one output"

    def _enabled(self) -> dict[str, OutputOptions]:
        sections = {member.name: getattr(self, member.name) for member in dataclasses.fields(self)}
        return {name: output for name, output in sections.items() if output is not None and output.enabled}
