"""Which class does the work of which configuration: what adds facts about the host, the process, the container."""

from collections.abc import Callable, Mapping
from typing import Any

from config.shipper.processors.dns import DnsConfig
from config.shipper.processors.host_metadata import AddHostMetadataConfig, AddProcessMetadataConfig
from config.shipper.processors.runtime_metadata import AddDockerMetadataConfig, AddKubernetesMetadataConfig
from shipper.processor.base import Surroundings, Table
from shipper.processor.metadata.docker import AddDockerMetadata
from shipper.processor.metadata.host import AddHostMetadata
from shipper.processor.metadata.kubernetes import AddKubernetesMetadata
from shipper.processor.metadata.process import AddProcessMetadata
from shipper.processor.waiting import Asks


def _dns(config: DnsConfig, around: Surroundings) -> Asks:
    # Not at the top: dnspython takes longer to load than all the others.
    from shipper.processor.metadata import dns

    return dns.build(config, around)


TABLE: Table = {
    AddHostMetadataConfig: AddHostMetadata,
    AddProcessMetadataConfig: AddProcessMetadata,
    AddDockerMetadataConfig: AddDockerMetadata,
    AddKubernetesMetadataConfig: AddKubernetesMetadata,
}
# Those that wait for answers.
ASKING: Mapping[type, Callable[[Any, Surroundings], Asks]] = {DnsConfig: _dns}
