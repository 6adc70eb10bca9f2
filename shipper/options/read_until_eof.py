"""The option `read_until_eof`: read files to their end before stopping."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.units import Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUntilEofConfig:
    """For files that no one reads later, such as those of a terminating pod: on SIGTERM, the shipper scans the paths
    once more and reads the files to their current end. An incomplete last message or line is shipped after a second
    without new data.
    """

    since: ClassVar = "0.3"
    enabled: bool = field(default=False, metadata={"doc": "Reads files to their end before stopping."})
    timeout: Duration = field(
        default=60.0, metadata={"doc": "Maximum time to read while stopping; `shutdown_timeout` limits it, too."}
    )
