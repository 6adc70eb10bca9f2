"""`autodiscover`: inputs for containers as they start and stop."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from log_shipper.config.yaml.deferred import Deferred
from log_shipper.config.yaml.schema import Kinds
from log_shipper.config.yaml.tree import Section
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.included import node_at

PROVIDERS = Kinds(
    "type",
    Deferred(__package__, {"kubernetes": "providers:KubernetesProvider", "docker": "providers:DockerProvider"}),
    filebeat.PROVIDERS_NOT_YET,
)


def has_providers(root: Section) -> bool:
    """Return True if a configuration needs no inputs because it has providers."""
    return any(node_at(root, f"{dialect}.autodiscover.providers") is not None for dialect in ("filebeat", "shipper"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AutodiscoverConfig:
    since: ClassVar = "0.3"
    enabled: bool = field(default=True, metadata={"doc": "Whether containers are discovered and their logs read."})
    providers: tuple[Any, ...] = field(
        default=(), metadata={"doc": "The sources of containers: Docker or Kubernetes.", "read_as": PROVIDERS}
    )

    def converted(self) -> "AutodiscoverConfig":
        return self if self.enabled else replace(self, providers=())
