"""Containers of a test, and a provider's rules from its YAML."""

from pathlib import Path

from log_shipper.config.yaml.load import load
from log_shipper.shipper.autodiscover.configuring import Configurer
from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.providers import EveryProvider

ID = "4c1e0f6ab1f24a1d9f1f3f0a8f6f7a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f"
UID = "0b8a5f0e-6a53-4a36-9f0a-6f7d2f1f7c11"


def container(name: str = "nginx", *, id: str = ID, **annotations: str) -> DiscoveredContainer:
    """Return a container of the pod web-1. Annotations are given with _ for the / of `co.elastic.logs/`."""
    kubernetes = {
        "namespace": "default",
        "pod": {"name": "web-1", "uid": UID, "ip": "10.0.0.7"},
        "labels": {"app": "web", "app_kubernetes_io/name": "web", "weight": "7"},
        "node": {"name": "node-1"},
        "container": {"id": id, "name": name, "image": "nginx:1.27", "runtime": "containerd"},
    }
    return DiscoveredContainer(
        key=f"{UID}.{name}.{id}",
        label=f"pod default/web-1, container {name}",
        id=id,
        name=name,
        data={"kubernetes": kubernetes, "container": kubernetes["container"], "host": "10.0.0.7"},
        annotations={f"co.elastic.logs{key}": value for key, value in annotations.items()},
        metadata={"kubernetes": {"namespace": "default"}},
        owned=(id, UID),
    )


class Rules:
    """Reads the YAML of one provider, and configures containers by it."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "shipper.yml"

    def config(self, provider: str, env: dict[str, str] | None = None) -> ShipperConfig:
        lines = "".join(f"      {line}\n" for line in provider.splitlines())
        self._file.write_text(f"filebeat.autodiscover:\n  providers:\n    -\n{lines}output.console: {{}}\n")
        return load(self._file, ShipperConfig, env=env or {})

    def provider(self, provider: str, env: dict[str, str] | None = None) -> EveryProvider:
        (read,) = self.config(provider, env).autodiscover.providers
        assert isinstance(read, EveryProvider)
        return read

    def configurer(self, provider: str, env: dict[str, str] | None = None) -> Configurer:
        return Configurer(self.provider(provider, env), "filebeat.autodiscover.providers[0]")
