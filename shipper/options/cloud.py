"""Options of what asks a cloud for metadata."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudTlsConfig:
    verification_mode: Literal["full", "none"] = field(
        default="full", metadata={"doc": "Whether the service's certificate is verified."}
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(), metadata={"doc": "Files with the authorities that are trusted; the system's when absent."}
    )
