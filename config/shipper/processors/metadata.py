"""Processors: what adds facts about the host, the process, the container."""

from config.shipper.processors.base import ProcessorConfig
from config.shipper.processors.dns import DnsConfig
from config.shipper.processors.host_metadata import AddHostMetadataConfig, AddProcessMetadataConfig
from config.shipper.processors.runtime_metadata import AddDockerMetadataConfig, AddKubernetesMetadataConfig

MODELS: tuple[type[ProcessorConfig], ...] = (
    AddHostMetadataConfig,
    AddProcessMetadataConfig,
    AddDockerMetadataConfig,
    AddKubernetesMetadataConfig,
    DnsConfig,
)
