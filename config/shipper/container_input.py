"""`type: container`: the files that a container runtime writes. It is `type: log` with the parser `container` first."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from config.shipper.container_parser import ContainerConfig, ContainerStream, one_stream
from config.shipper.flat_inputs import LogInput
from config.shipper.inputs import InputType
from config.shipper.parsers import ParserConfig
from config.text.checks import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerInput(LogInput):
    type: InputType = field(default="container", metadata={"doc": "The kind of input."})
    symlinks: bool = field(
        default=True, metadata={"doc": "Whether symbolic links are followed; /var/log/containers holds nothing else."}
    )
    stream: ContainerStream = field(default="all", metadata={"since": "0.2", "doc": "Whose lines are shipped."})
    format: Literal["auto", "docker", "cri"] = field(
        default="auto",
        metadata={
            "since": "0.2",
            "doc": "How the runtime writes lines: JSON (docker) or text (cri); auto sees it by each.",
        },
    )

    def remarks(self) -> Iterator[Finding]:
        yield from one_stream(self.stream)

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        # Named, because a dataclass with slots is another class than the one that a bare super() knows.
        return (ContainerConfig(format=self.format, stream=self.stream), *super(ContainerInput, self).parsers)
