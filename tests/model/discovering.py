"""A Lab with containers: they come and go as the test says."""

from functools import partial
from pathlib import Path
from typing import Any

import orjson

from log_shipper.config.yaml.load import load
from log_shipper.shipper.agent.app import build
from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.autodiscover.composition import Autodiscover, ProviderContext
from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.autodiscover.discoveries import Discoveries
from log_shipper.shipper.autodiscover.start import start
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.wake import Wake
from tests.lab import Lab


class FakeProvider:
    """Reports what the test says."""

    def __init__(self, context: ProviderContext) -> None:
        self.reporter = context.reporter
        self.is_listed = True
        self.present: list[DiscoveredContainer] = []

    def start(self) -> None:
        for container in self.present:
            self.reporter.present(container)

    def close(self) -> None: ...


class DiscoveringLab(Lab):
    """`providers` are those of the configuration; `templates` of the first, unless the test has others."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._file = directory / "shipper.yml"
        template = {
            "type": "filestream",
            "id": "c-${data.container.id}",
            "paths": [f"{self.logs}/*-${{data.container.id}}.log"],
        }
        self.providers: list[dict[str, Any]] = [{"type": "kubernetes", "templates": [{"config": [template]}]}]
        self.inputs: list[dict[str, Any]] = []
        self.fakes: list[FakeProvider] = []
        self.present: list[DiscoveredContainer] = []
        self.is_listed = True

    def _config(self) -> ShipperConfig:
        document = {
            "filebeat.inputs": self.inputs,
            "filebeat.autodiscover.providers": self.providers,
            "output.console": {},
            "name": "lab",
        }
        self._file.write_text(orjson.dumps(document).decode())
        return load(self._file, ShipperConfig, env={})

    def start(self, *, once: bool = False) -> None:
        wake = Wake()
        self._stack.callback(wake.close)
        self.fakes = []
        environment = Environment(
            self.data,
            wake,
            self.clock,
            once=once,
            connect=self._connect,
            discover=partial(start, make=self._make),
            threads=self.threads,
            stopping=lambda: not self.is_listed,
        )
        self.app = build(self._config(), environment, self._stack)

    def _make(self, provider: object, context: ProviderContext) -> FakeProvider:
        fake = FakeProvider(context)
        fake.present, fake.is_listed = self.present, self.is_listed
        self.fakes.append(fake)
        return fake

    def step(self, seconds: float = 0.005, wait: float = 0.0) -> None:
        super().step(seconds, wait)
        self.running.containers.step()

    def come(self, *containers: DiscoveredContainer, provider: int = 0) -> None:
        for container in containers:
            self.fakes[provider].reporter.present(container)

    def go(self, *containers: DiscoveredContainer, provider: int = 0) -> None:
        for container in containers:
            self.fakes[provider].reporter.ended(container.key)

    def write(self, container: DiscoveredContainer, *lines: str) -> str:
        name = f"web-1-{container.id}.log"
        self.append(name, "".join(f"{line}\n" for line in lines))
        return name

    @property
    def discoveries(self) -> Discoveries:
        assert isinstance(self.running.containers, Autodiscover)
        return self.running.containers.discoveries

    @property
    def input_ids(self) -> set[str]:
        """The inputs that are read now."""
        return {active.id for active in self.running.reloader.running}

    def pass_time(self, seconds: float, steps: int = 20) -> None:
        for _ in range(steps):
            self.step(seconds=seconds / steps, wait=0.002)
