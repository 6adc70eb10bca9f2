"""Options of requests to a cloud's metadata service."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudTlsConfig:
    verification_mode: Literal["full", "none"] = field(
        default="full", metadata={"doc": "Whether the certificate of the metadata service is verified."}
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(), metadata={"doc": "CA files to trust; the system's when absent."}
    )
