"""The composition of the monitor: creates, starts and stops the server, sampler and probe.

It begins before the agent is composed, which may wait for a broker: a supervisor must see that the process lives.
"""

import logging
import re
import socket
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from log_shipper import VERSION
from log_shipper.runtime.logs.recent import RecentMessages
from log_shipper.runtime.monitor.server import Handler
from log_shipper.shipper.agent.app import App
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.agent_socket import socket_path
from log_shipper.shipper.monitor.free_space import FreeSpace
from log_shipper.shipper.monitor.health import StartProgress
from log_shipper.shipper.monitor.observing import take_snapshot
from log_shipper.shipper.monitor.output_probe import OutputProbe
from log_shipper.shipper.monitor.routes import Sources, routes
from log_shipper.shipper.monitor.sampler import Sampler
from log_shipper.shipper.monitor.serving import Serving
from log_shipper.shipper.monitor.snapshot import Snapshot
from log_shipper.shipper.monitor.status import AgentIdentity
from log_shipper.shipper.options.feeds import AnyInput
from log_shipper.shipper.options.http import HttpConfig
from log_shipper.shipper.options.inputs import InputConfig
from log_shipper.shipper.output.base import Records, Remote
from log_shipper.shipper.tap.route import TapSources, no_tap, sources_route, tap_route
from log_shipper.shipper.tap.tap import Tap

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """What the monitor needs. `name`: the agent's; `data`: its path.data; `records` encodes events as the output sends
    them, for `shipper tap`. `configuration` returns the configuration in effect as text, and `read_again` is called
    after a reload. `once`: the run ends by itself and continues if a port is in use, perhaps by the agent whose files
    it resends.
    """

    http: HttpConfig
    name: str
    data: Path
    clock: Clock
    records: Callable[[], Records]
    configuration: Callable[[], str] = str
    read_again: Callable[[], None] = lambda: None
    once: bool = False


class Monitor:
    """The monitor, used by the reading thread; it starts its own threads."""

    def __init__(self, settings: MonitorSettings, stack: ExitStack) -> None:
        """Serve at the configured address, if any. `stack` closes the server. Raises StartError."""
        self._settings = settings
        self._stack = stack
        errors = errors_log()
        logging.getLogger().addHandler(errors)
        stack.callback(logging.getLogger().removeHandler, errors)
        host = socket.gethostname()
        identity = AgentIdentity(settings.name, host, "", VERSION, settings.clock.time())
        self._startup = StartProgress()
        self._sources = Sources(identity, uuid.uuid4().hex, self._startup, errors.newest_first, settings.configuration)
        self._routes: dict[str, Handler] = dict(routes(self._sources))
        self._own_routes = dict(self._routes)
        self._server = Serving(self._routes, self._own_routes, settings.http, names=(settings.name, host))
        stack.callback(self._server.close)
        try:
            self._server.listen()
        except StartError as error:
            if not settings.once:
                raise
            logger.warning("%s; this --once run continues without it", error)

    def opened(self) -> None:
        """Note that path.data and the registry are open, and serve on the socket in path.data."""
        self._startup.registry_open = True
        self._server.listen_at(socket_path(self._settings.data))

    def observe(self, app: App) -> None:
        """Take snapshots of the composed agent from now on."""
        settings, sources = self._settings, self._sources
        sources.identity = replace(sources.identity, name=app.agent.name, host=app.agent.host, id=app.agent.id)
        tap = Tap(app.pipeline.publisher, settings.records, settings.clock)
        self._stack.callback(tap.close)
        self._routes["/tap"], self._own_routes["/tap"] = no_tap, tap_route(tap, settings.clock)
        self._own_routes["/tap/sources"] = sources_route(lambda: _tappable(app))
        space, probe = FreeSpace(settings.data), self._probe(app)
        reloaded = app.reloader.reloads.ok
        latest: Snapshot | None = None

        def take() -> Snapshot:
            nonlocal reloaded, latest
            space.step(settings.clock.monotonic())
            if app.reloader.reloads.ok != reloaded:
                reloaded = app.reloader.reloads.ok
                settings.read_again()
            latest = take_snapshot(
                app, settings.clock, space.space, reached=lambda: probe is None or probe.reached, before=latest
            )
            return latest

        sources.silent_for = lambda: app.silent_for(settings.clock.monotonic())
        sources.sampler = sampler = Sampler(take, sources.health)
        sampler.start()
        self._stack.callback(sampler.close)

    def stopping(self) -> None:
        """Note that a stop was requested: the agent is no longer ready."""
        self._startup.stopping = True

    def _probe(self, app: App) -> OutputProbe | None:
        output = app.pipeline.output
        if not isinstance(output, Remote):
            return None
        probe = OutputProbe(output, lambda: not app.pipeline.output.in_flight)
        probe.start()
        self._stack.callback(probe.close)
        return probe


def _tappable(app: App) -> TapSources:
    inputs = {active.id: _paths(active.config) for active in app.reloader.running}
    return TapSources(inputs, [harvester.state.path for harvester in app.sources.observe().running])


def _paths(config: AnyInput) -> tuple[str, ...]:
    return config.paths if isinstance(config, InputConfig) else ()


NUMBER = re.compile(r"\d+")
MAX_CHARACTERS = 1000  # characters


def errors_log() -> RecentMessages:
    """Return the handler for the root logger. Lines that differ only in numbers are repeats."""
    return RecentMessages(lambda message: message[:MAX_CHARACTERS], lambda text: NUMBER.sub("#", text))
