"""A file that a scan found, now open."""

from dataclasses import dataclass

from shipper.source.content import Content
from shipper.source.discover import FileKey, Found
from shipper.source.identity import Name
from shipper.source.input import Input


@dataclass(frozen=True, slots=True)
class Opened:
    """`size` in bytes as they are on disk, `name` what the file is known by; `birth` and `modified` in nanoseconds, the
    first 0 where nobody knows it."""

    found: Found
    content: Content
    size: int
    name: Name
    source: Input
    birth: int = 0
    modified: int = 0

    @property
    def key(self) -> FileKey:
        return self.found.key
