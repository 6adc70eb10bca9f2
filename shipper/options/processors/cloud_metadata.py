"""The processor that adds metadata of the cloud instance that the agent runs on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, addresses
from log_shipper.config.text.units import Duration
from log_shipper.shipper.options.processors.base import ProcessorConfig

# Filebeat's names -> the service that is asked. A cloud of Huawei is one of OpenStack, and cannot be distinguished.
SERVICES = {
    "aws": "aws",
    "ec2": "aws",
    "azure": "azure",
    "gcp": "gcp",
    "digitalocean": "digitalocean",
    "hetzner": "hetzner",
    "openstack": "openstack",
    "nova": "openstack",
    "huawei": "openstack",
    "openstack-ssl": "openstack-ssl",
    "nova-ssl": "openstack-ssl",
    "alibaba": "alibaba",
    "ecs": "alibaba",
    "tencent": "tencent",
    "qcloud": "tencent",
}
# Asked without `providers`: those whose address leads nowhere beyond the machine.
LOCAL = ("aws", "azure", "gcp", "digitalocean", "hetzner", "openstack", "openstack-ssl")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudTlsConfig:
    verification_mode: Literal["full", "none"] = field(
        default="full", metadata={"doc": "Whether the service's certificate is verified."}
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(), metadata={"doc": "Files with the authorities that are trusted; the system's when absent."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCloudMetadataConfig(ProcessorConfig):
    """Adds metadata of the cloud instance that the agent runs on, which the cloud's own service is asked for once."""

    name: ClassVar = "add_cloud_metadata"
    timeout: Duration = field(
        default=3.0, metadata={"doc": "How long the first events wait, at most, for the answer of a service."}
    )
    providers: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": f"Which services are asked, all at once: {', '.join(SERVICES)}. When empty all but those of alibaba "
            "and tencent. The environment variable BEATS_ADD_CLOUD_METADATA_PROVIDERS, with names between commas, "
            "takes precedence."
        },
    )
    overwrite: bool = field(
        default=False,
        metadata={"doc": "Whether `cloud`, `orchestrator` and `aws` of an event are replaced, if the answer has them."},
    )
    host: str | None = field(
        default=None, metadata={"doc": "A host:port that is asked in place of the services' own addresses, for tests."}
    )
    ssl: CloudTlsConfig = field(
        default_factory=CloudTlsConfig, metadata={"doc": "TLS of openstack-ssl, the only one that has it."}
    )

    def check(self) -> Iterator[Finding]:
        if self.timeout <= 0:
            yield "timeout", "must be more than 0"
        for index, name in enumerate(self.providers):
            if name not in SERVICES:
                yield f"providers[{index}]", f"{name!r} must be one of: {', '.join(SERVICES)}"
        if self.host is not None:
            yield from (("host", fault) for _, fault in addresses((self.host,)))

    def may_set(self, root: str) -> bool:
        return root == "cloud"
