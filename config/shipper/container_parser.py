"""The parser `container`: the lines that a container runtime writes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.text.checks import Finding

ContainerFormat = Literal["auto", "docker", "json-file", "cri"]
ContainerStream = Literal["all", "stdout", "stderr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    since: ClassVar = "0.2"
    format: ContainerFormat = field(
        default="auto",
        metadata={"doc": "How the runtime writes lines: JSON (docker, json-file) or text (cri); auto sees it by each."},
    )
    stream: ContainerStream = field(default="all", metadata={"doc": "Whose lines are shipped."})

    def remarks(self) -> Iterator[Finding]:
        yield from one_stream(self.stream)

    @property
    def ends_after(self) -> float:
        """Seconds after which the first part of a line is shipped though the rest has not come. Runtimes write the
        parts of a line at once; what a container left behind when it was killed must not wait for ever."""
        return 5.0


def one_stream(stream: ContainerStream) -> Iterator[Finding]:
    """Elsewhere it is common to have one input for each stream of the same files."""
    if stream != "all":
        other = "stderr" if stream == "stdout" else "stdout"
        yield "stream", f"lines of {other} are dropped; a file has one input, so another one cannot ship them"
