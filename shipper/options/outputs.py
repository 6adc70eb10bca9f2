"""The outputs: exactly one section of `output` is enabled."""

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
    """Common options of outputs, and what the configuration needs of the enabled one; the agent's part is in
    `outputs/base.py`.
    """

    is_stdout: ClassVar = False  # it writes to standard output
    enabled: bool = field(default=True, metadata={"doc": "Whether this output is used."})

    @property
    def commits_positions(self) -> bool:
        """Return True if positions are committed with the records."""
        return False

    @property
    def brokers(self) -> tuple[str, ...]:
        """Return the Kafka brokers of the output."""
        return ()

    @property
    def fixed_topics(self) -> set[str]:
        """Return the topics that may be written, except those that depend on the event."""
        return set()

    def files(self) -> Sequence[str]:
        """Return the paths that it writes."""
        return ()

    def conditions(self) -> Iterator[tuple[str, ConditionConfig]]:
        """Yield its conditions on events, with their dotted path in the section."""
        return iter(())

    def message_limit(self, wanted: int) -> int:
        """Return the maximum size of messages in bytes: larger ones would be truncated later."""
        return wanted

    def examine(self) -> Examination:
        """Return what is wrong with files named by the options, without connecting."""
        return Examination()


_MODULES = "log_shipper.shipper.outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    not_yet: ClassVar = filebeat.OUTPUT_NOT_YET
    explain: ClassVar = tuple(filebeat.OUTPUT_NOT_YET)
    kafka: OutputOptions | None = field(
        default=None, metadata={"doc": "Sends to Kafka.", "model": f"{_MODULES}.kafka:KafkaOutput"}
    )
    console: OutputOptions | None = field(
        default=None,
        metadata={
            "doc": "Writes JSON records to standard output, one per line.",
            "model": f"{_MODULES}.console:ConsoleOutputConfig",
        },
    )
    file: OutputOptions | None = field(
        default=None,
        metadata={
            "doc": "Writes JSON records to a file, one per line, with fsync.",
            "model": f"{_MODULES}.file:FileOutputConfig",
        },
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
            yield name, f"conflicts with output.{enabled[0]}; enable exactly one output"

    def _enabled(self) -> dict[str, OutputOptions]:
        sections = {member.name: getattr(self, member.name) for member in dataclasses.fields(self)}
        return {name: output for name, output in sections.items() if output is not None and output.enabled}
