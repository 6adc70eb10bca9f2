"""`type: container`: the files that a container runtime writes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from config.checks import Finding
from config.flat_inputs import LogInput
from config.inputs import InputType


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerInput(LogInput):
    type: InputType = field(default="container", metadata={"doc": "The kind of input."})
    symlinks: bool = field(
        default=True, metadata={"doc": "Whether symbolic links are followed; /var/log/containers holds nothing else."}
    )
    stream: Literal["all", "stdout", "stderr"] = field(
        default="all", metadata={"doc": "Whose lines are shipped; only all is supported yet."}
    )
    format: Literal["auto", "docker", "cri"] = field(
        default="auto", metadata={"doc": "How the runtime writes lines; not used yet."}
    )

    def check(self) -> Iterator[Finding]:
        yield from LogInput.check(self)
        if self.stream != "all":
            yield "stream", "not supported (yet); lines of both streams are shipped, as the runtime wrote them"

    def remarks(self) -> Iterator[Finding]:
        yield "type", "lines are shipped as the runtime wrote them, with its own time and stream in front"
