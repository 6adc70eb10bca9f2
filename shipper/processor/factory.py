"""Makes processors of their options. A new processor is one line in a table here, beside its options
(shipper/options/processors) and its class."""

from collections.abc import Callable, Mapping
from typing import Any

from log_shipper.shipper.options.processors.caching import CacheConfig
from log_shipper.shipper.options.processors.cloud_metadata import AddCloudMetadataConfig
from log_shipper.shipper.options.processors.dns import DnsConfig
from log_shipper.shipper.options.processors.docker_metadata import AddDockerMetadataConfig
from log_shipper.shipper.options.processors.host_metadata import AddHostMetadataConfig, AddProcessMetadataConfig
from log_shipper.shipper.options.processors.kubernetes_metadata import AddKubernetesMetadataConfig
from log_shipper.shipper.processor.base import AsyncProcessor, EventProcessor, Processor, ProcessorContext
from log_shipper.shipper.processor.decoding.cached import cached
from log_shipper.shipper.processor.metadata.cloud import AddCloudMetadata
from log_shipper.shipper.processor.metadata.docker import AddDockerMetadata
from log_shipper.shipper.processor.metadata.host import AddHostMetadata
from log_shipper.shipper.processor.metadata.process import AddProcessMetadata


def _kubernetes(config: AddKubernetesMetadataConfig, context: ProcessorContext) -> Processor:
    # Imported here: TLS and HTTP are more than all the others together.
    from log_shipper.shipper.processor.metadata import kubernetes

    return kubernetes.connected(config, context)


def _dns(config: DnsConfig, context: ProcessorContext) -> AsyncProcessor:
    # Imported here: dnspython takes longer to load than all the others.
    from log_shipper.shipper.processor.metadata import dns

    return dns.build(config, context)


# Those that need nothing but their options.
OF_OPTIONS: Mapping[type, Callable[[Any], Processor | EventProcessor]] = {}
# Those that need something of the context too, as the clock.
OF_CONTEXT: Mapping[type, Callable[[Any, ProcessorContext], Processor | EventProcessor]] = {
    CacheConfig: cached,
    AddHostMetadataConfig: AddHostMetadata,
    AddProcessMetadataConfig: AddProcessMetadata,
    AddCloudMetadataConfig: AddCloudMetadata,
    AddDockerMetadataConfig: AddDockerMetadata,
    AddKubernetesMetadataConfig: _kubernetes,
}
# Those that wait for results from elsewhere.
ASYNC: Mapping[type, Callable[[Any, ProcessorContext], AsyncProcessor]] = {DnsConfig: _dns}


def make(config: Any, context: ProcessorContext) -> Processor | EventProcessor | AsyncProcessor:
    """Return the processor of these options. Raises StartError if it cannot work here."""
    kind = type(config)
    if kind in ASYNC:
        return ASYNC[kind](config, context)
    return OF_OPTIONS[kind](config) if kind in OF_OPTIONS else OF_CONTEXT[kind](config, context)
