"""Processors: what adds facts about the host, the process, the container."""

from config.processors.base import ProcessorConfig
from config.processors.dns import DnsConfig
from config.processors.host_metadata import AddHostMetadataConfig, AddProcessMetadataConfig
from config.processors.runtime_metadata import AddDockerMetadataConfig, AddKubernetesMetadataConfig

MODELS: tuple[type[ProcessorConfig], ...] = (
    AddHostMetadataConfig,
    AddProcessMetadataConfig,
    AddDockerMetadataConfig,
    AddKubernetesMetadataConfig,
    DnsConfig,
)
