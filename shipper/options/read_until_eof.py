"""The option `read_until_eof`: a stop reads files to their end."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.units import Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUntilEofConfig:
    """For files that nobody reads after a stop, as those of a pod that ends: a stop (SIGTERM) searches the paths once
    more, and reads the files to the ends that they have by then. A last message or line that is unfinished is shipped
    as it is when its file has had no new data for a second."""

    since: ClassVar = "0.2"
    enabled: bool = field(default=False, metadata={"doc": "Whether a stop reads files to their end."})
    timeout: Duration = field(
        default=60.0, metadata={"doc": "How long a stop reads at most; `shutdown_timeout` limits it, too."}
    )
