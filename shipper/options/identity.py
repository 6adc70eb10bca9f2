"""`file_identity`: how an input recognises a file. YAML names one section, the program gets one value."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank

IdentityName = Literal["default", "native", "fingerprint", "path", "inode_marker"]


@dataclass(frozen=True, slots=True)
class FileIdentityConfig:
    """`default` is device and inode, confirmed by the bytes of the head and before the position.

    `offset`, `length` (bytes) and `growing` belong to `fingerprint`, `marker` (a file's path) to `inode_marker`.
    """

    name: IdentityName = "default"
    offset: int = 0
    length: int = 1024
    marker: str = ""
    growing: bool = False  # read files that are too short for it, and prove what is recognised by it

    @property
    def is_confirmed(self) -> bool:
        """True if device and inode identify a file only where the bytes confirm it."""
        return self.name == "default" or self.growing


@dataclass(frozen=True, slots=True)
class EmptySection:
    """A section without options."""

    not_yet: ClassVar = {
        "length": "set prospector.scanner.fingerprint.length",
        "offset": "set prospector.scanner.fingerprint.offset",
    }


@dataclass(frozen=True, slots=True)
class FingerprintSection(EmptySection):
    growing: bool = field(
        default=False,
        metadata={
            "since": "0.2",
            "doc": "Whether files that are too short for `prospector.scanner.fingerprint` are read, too. A file is "
            "recognised as by default and, where the file of an entry is missing or was truncated, by the fingerprint "
            "with all bytes that were shipped.",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerSection:
    path: str = field(
        metadata={
            "doc": "A file whose content is unique to the device; it is used instead of the device number.",
            "check": not_blank,
            "missing": "name the marker file, as in 'path: /logs/.shipper-marker'",
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentitySection:
    """`file_identity` as it is written; without any of the four it is `default`."""

    as_in: ClassVar = "file_identity.native: ~"

    native: EmptySection | None = field(default=None, metadata={"doc": "Identifies a file by device and inode alone."})
    fingerprint: FingerprintSection | None = field(
        default=None, metadata={"doc": "Identifies a file by the bytes that `prospector.scanner.fingerprint` selects."}
    )
    path: EmptySection | None = field(
        default=None, metadata={"doc": "Identifies a file by its path; a renamed file is read again."}
    )
    inode_marker: MarkerSection | None = field(
        default=None, metadata={"doc": "Identifies a file by its inode and the content of a marker file."}
    )

    def check(self) -> Iterator[Finding]:
        given = self._given()
        for name in given[1:]:
            yield name, f"file_identity.{given[0]} is given too; a file is identified by one of them"

    def converted(self) -> FileIdentityConfig:
        given = self._given()
        marker = self.inode_marker.path if self.inode_marker else ""
        growing = self.fingerprint is not None and self.fingerprint.growing
        return FileIdentityConfig(given[0] if given else "default", marker=marker, growing=growing)

    def _given(self) -> list[IdentityName]:
        sections: dict[IdentityName, object] = {
            "native": self.native,
            "fingerprint": self.fingerprint,
            "path": self.path,
            "inode_marker": self.inode_marker,
        }
        return [name for name, section in sections.items() if section is not None]
