"""`file_identity`: how an input recognises a file. YAML names one section, the program gets one value."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.text.checks import Finding, not_blank

IdentityName = Literal["default", "native", "fingerprint", "path", "inode_marker"]


@dataclass(frozen=True, slots=True)
class FileIdentityConfig:
    """`default` is device and inode, confirmed by the bytes of the head and before the position.

    `offset` and `length` (bytes) belong to `fingerprint`, `marker` (a file's path) to `inode_marker`.
    """

    name: IdentityName = "default"
    offset: int = 0
    length: int = 1024
    marker: str = ""


@dataclass(frozen=True, slots=True)
class EmptySection:
    """A section without options."""

    not_yet: ClassVar = {
        "length": "set prospector.scanner.fingerprint.length",
        "offset": "set prospector.scanner.fingerprint.offset",
    }


@dataclass(frozen=True, slots=True)
class FingerprintSection(EmptySection):
    not_yet: ClassVar = {
        **EmptySection.not_yet,
        "growing": "leave file_identity out: by default a file is read from its first byte on, and recognised by "
        "device, inode and the bytes read so far; or set a lower prospector.scanner.fingerprint.length",
    }


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
        return FileIdentityConfig(given[0] if given else "default", marker=marker)

    def _given(self) -> list[IdentityName]:
        sections: dict[IdentityName, object] = {
            "native": self.native,
            "fingerprint": self.fingerprint,
            "path": self.path,
            "inode_marker": self.inode_marker,
        }
        return [name for name, section in sections.items() if section is not None]
