"""A Lab whose inputs are changed while it runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from log_shipper.shipper.agent.app import build
from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.agent.reload import ConfigSource
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.options.model import InputConfig, ShipperConfig
from log_shipper.shipper.wake import Wake
from tests.lab import Lab


class ReloadingLab(Lab):
    """`configured` is the configuration that the agent reads; `hang_up` makes it read it again."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.configured = self._config()
        self.fails: Exception | None = None  # what reading the configuration raises
        self._is_requested = False
        self.delayed: list[Callable[[], None]] | None = None  # work for the test to run; without a list it runs at once

    def start(self, *, once: bool = False) -> None:
        wake = Wake()
        self._stack.callback(wake.close)
        reading = ConfigSource(self._read, self._is_asked, start=self._work)
        environment = Environment(
            self.data, wake, self.clock, once=once, connect=self._connect, reading=reading, threads=self.threads
        )
        self.app = build(self.configured, environment, self._stack)

    def configure(self, *inputs: InputConfig, **changes: Any) -> None:
        self.configured = replace(self.configured, inputs=inputs or self.configured.inputs, **changes)

    def hang_up(self) -> None:
        """As SIGHUP."""
        self._is_requested = True
        self.running.reloader.step()

    def reload(self, *inputs: InputConfig, **changes: Any) -> None:
        self.configure(*inputs, **changes)
        self.hang_up()

    def _read(self) -> ShipperConfig:
        if self.fails is not None:
            raise self.fails
        return self.configured

    def _work(self, work: Callable[[], None]) -> None:
        if self.delayed is None:
            work()
        else:
            self.delayed.append(work)

    def _is_asked(self) -> bool:
        is_requested, self._is_requested = self._is_requested, False
        return is_requested

    def make_input(self, name: str, pattern: str, **options: Any) -> InputConfig:
        """Return an input of files in the Lab's directory."""
        (first,) = super()._config().file_inputs
        return replace(first, **{"id": name, "paths": (f"{self.logs}/{pattern}",), **options})

    @property
    def harvesters(self) -> dict[str, Harvester]:
        """The running harvesters, by the name of their file."""
        return {Path(harvester.state.path).name: harvester for harvester in self.crawler.running.values()}

    def tagged_messages(self) -> list[tuple[str, list[str]]]:
        """Return what arrived, repeats included, each message with its tags."""
        return [(record["message"], record.get("tags", [])) for record in map(orjson.loads, self.records)]
