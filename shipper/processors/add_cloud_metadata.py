"""`add_cloud_metadata`: metadata of the cloud instance that the agent runs on.

The metadata services are asked once, on their own threads, when the processor is made. The first events wait for the
answer, at most `timeout`; after that, all events share it at no cost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from log_shipper.config.text.checks import Finding, addresses
from log_shipper.config.text.units import Duration
from log_shipper.shipper.event import Batch
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.cloud import CloudTlsConfig
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING
from log_shipper.shipper.processor.metadata.facts import Facts, Sharing

if TYPE_CHECKING:
    from log_shipper.shipper.cloud.search import CloudSearch

# Filebeat's names -> service. Huawei's cloud is an OpenStack cloud, and cannot be told apart.
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
# The default of `providers`: services whose address leads nowhere beyond the machine.
LOCAL = ("aws", "azure", "gcp", "digitalocean", "hetzner", "openstack", "openstack-ssl")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCloudMetadataConfig(ProcessorConfig):
    """Adds metadata of the cloud instance, which the cloud's metadata service is asked for once."""

    name: ClassVar = "add_cloud_metadata"
    example: ClassVar = "add_cloud_metadata: {providers: [aws]}"
    timeout: Duration = field(
        default=3.0, metadata={"doc": "The maximum time that the first events wait for a metadata service."}
    )
    providers: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": f"The metadata services to ask, all at once: {', '.join(SERVICES)}. When empty, all but "
            "those of alibaba and tencent. The environment variable "
            "BEATS_ADD_CLOUD_METADATA_PROVIDERS, a comma-separated list, takes precedence."
        },
    )
    overwrite: bool = field(
        default=False,
        metadata={"doc": "Whether existing fields `cloud`, `orchestrator` and `aws` are overwritten."},
    )
    host: str | None = field(
        default=None, metadata={"doc": "A host:port to ask instead of the metadata services' own addresses, for tests."}
    )
    ssl: CloudTlsConfig = field(
        default_factory=CloudTlsConfig, metadata={"doc": "The TLS options of openstack-ssl, the only service with TLS."}
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

    def build(self, context: ProcessorContext) -> Processor:
        return AddCloudMetadata(self, context)


CHOSEN = "BEATS_ADD_CLOUD_METADATA_PROVIDERS"
ROOTS = frozenset({"cloud", "orchestrator", "aws"})


class AddCloudMetadata:
    def __init__(
        self,
        config: AddCloudMetadataConfig,
        context: ProcessorContext,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Start the search. Raises StartError if the files of `ssl` cannot be used."""
        self._overwrites = config.overwrite
        self._search = _search(config, context, environment)
        self._sharing = Sharing(config.name, ROOTS, context.metrics)
        self._facts: Facts | None = None

    def waits_until(self, batch: Batch) -> float:
        return 0.0 if self._search.is_done() else self._search.until

    def run(self, events: Events, indices: Sequence[int]) -> None:
        if self._facts is None:
            if not self._search.members:
                return
            self._facts = Facts(self._sharing, self._search.members)
        self._sharing.run(events, indices, self._facts, self._apply)

    def _apply(self, event: Event) -> None:
        """Write each object as a whole, as Filebeat does: never mix members of two clouds."""
        for name, value in self._search.members.items():
            if self._overwrites or event.get((name,)) is MISSING:
                event.put((name,), copied(value))


def chosen(config: AddCloudMetadataConfig, environment: Mapping[str, str]) -> frozenset[str]:
    """Return the services to ask. Unknown names in the environment variable are ignored, as in Filebeat."""
    written = environment.get(CHOSEN)
    names = config.providers if written is None else [name.strip() for name in written.split(",")]
    if not names:
        return frozenset(LOCAL)
    return frozenset(SERVICES[name] for name in names if name in SERVICES)


def _search(config: AddCloudMetadataConfig, context: ProcessorContext, environment: Mapping[str, str]) -> CloudSearch:
    names = chosen(config, environment)
    # Imported here: it brings http.client and ssl.
    from log_shipper.shipper.cloud.search import CloudSearch
    from log_shipper.shipper.cloud.start import services, wanted

    def begin() -> CloudSearch:
        search = CloudSearch(wanted(names), config.timeout, context.clock, context.wake)
        search.start(services(config.host, config.ssl, context.clock))
        return search

    # Shared, so that a reload of inputs does not ask again.
    options = (config.name, names, config.timeout, config.host, config.ssl)
    return context.services.shared(options, begin, keep=True)
