"""`file_identity`: how an input recognises a file. In YAML, it is one section; in the program, one value."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank

IdentityName = Literal["default", "native", "fingerprint", "path", "inode_marker"]


@dataclass(frozen=True, slots=True)
class FileIdentityConfig:
    """How files are identified; `default` is device and inode, confirmed by the first bytes and those before the
    position.

    `offset`, `length` (bytes) and `growing` belong to `fingerprint`, `marker` (a file's path) to `inode_marker`.
    """

    name: IdentityName = "default"
    offset: int = 0
    length: int = 1024
    marker: str = ""
    growing: bool = False  # also read files too short for it, and verify matches with it

    @property
    def recognises_copies(self) -> bool:
        """Return True if another file may prove to be a missing one: a copy, or the same under another inode."""
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
            "since": "0.3",
            "doc": "Also reads files too short for `prospector.scanner.fingerprint`. When an entry's file is missing "
            "or truncated, candidates are compared with all bytes shipped so far.",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerSection:
    path: str = field(
        metadata={
            "doc": "A file whose content is unique to the device; it replaces the device number.",
            "check": not_blank,
            "missing": "name the marker file, as in 'path: /logs/.shipper-marker'",
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentitySection:
    """`file_identity` in YAML; without any of the four options it is `default`."""

    as_in: ClassVar = "file_identity.native: ~"

    native: EmptySection | None = field(
        default=None, metadata={"doc": "Identifies files by device and inode, not by names or times."}
    )
    fingerprint: FingerprintSection | None = field(
        default=None,
        metadata={"doc": "Identifies files by a hash of the bytes selected in `prospector.scanner.fingerprint`."},
    )
    path: EmptySection | None = field(
        default=None, metadata={"doc": "Identifies files by path; renamed and rewritten files are read again."}
    )
    inode_marker: MarkerSection | None = field(
        default=None, metadata={"doc": "Identifies files by inode and the content of a marker file."}
    )

    def check(self) -> Iterator[Finding]:
        given = self._given()
        for name in given[1:]:
            yield name, f"conflicts with file_identity.{given[0]}; set only one of them"

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
