"""The composition of the monitor: what serves, samples and probes is made, started and stopped here.

It begins before the agent is composed, which may wait for a broker: a supervisor has to see that the process lives.
"""

import errno
import logging
import socket
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from config.shipper.http import HttpConfig
from monitor.server import Handler, HttpServer
from shipper.app import App
from shipper.clock import Clock
from shipper.errors import StartError
from shipper.monitor.errors_log import ErrorsLog
from shipper.monitor.free_space import FreeSpace
from shipper.monitor.health import StartProgress
from shipper.monitor.observing import take_snapshot
from shipper.monitor.output_probe import OutputProbe
from shipper.monitor.routes import Sources, routes
from shipper.monitor.sampler import Sampler
from shipper.monitor.snapshot import Snapshot
from shipper.monitor.status import AgentIdentity
from shipper.output.base import Remote
from shipper.version import VERSION

logger = logging.getLogger(__name__)

SOCKET = "shipper.sock"  # below path.data


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """`name` is the agent's, `data` its path.data; `configuration` returns the text of the one in effect, and
    `read_again` is called when another one is."""

    http: HttpConfig
    name: str
    data: Path
    clock: Clock
    configuration: Callable[[], str] = str
    read_again: Callable[[], None] = lambda: None


class Monitor:
    """Used by the reading thread; everything that it starts runs on threads of its own."""

    def __init__(self, settings: MonitorSettings, stack: ExitStack) -> None:
        """Serve at the configured address, if one is. `stack` closes it. Raises StartError."""
        self._settings = settings
        self._stack = stack
        errors = ErrorsLog()
        logging.getLogger().addHandler(errors)
        stack.callback(logging.getLogger().removeHandler, errors)
        host = socket.gethostname()
        identity = AgentIdentity(settings.name, host, "", VERSION, settings.clock.time())
        self._startup = StartProgress()
        self._sources = Sources(identity, uuid.uuid4().hex, self._startup, errors.lines, settings.configuration)
        self._routes: dict[str, Handler] = dict(routes(self._sources))
        if settings.http.enabled:
            self._serve(self._listen_on_configured, host)

    def opened(self) -> None:
        """Note that path.data and the registry are open, and serve at the socket in path.data."""
        self._startup.registry_open = True
        if self._settings.http.socket:
            try:
                self._serve(lambda server: server.listen_at(self._settings.data / SOCKET))
            except OSError as error:
                logger.warning(
                    "'shipper top' and 'shipper tap' cannot connect, as there is no socket in path.data: %s; "
                    "http.socket: false leaves it out",
                    _in_words(error),
                )

    def observe(self, app: App, more_routes: Mapping[str, Handler] | None = None) -> None:
        """Take snapshots of a composed agent from now on."""
        settings, sources = self._settings, self._sources
        sources.identity = replace(sources.identity, name=app.agent.name, host=app.agent.host, id=app.agent.id)
        self._routes.update(more_routes or {})
        space, probe = FreeSpace(settings.data), self._probe(app)
        reloaded = app.reloader.reloads.ok

        def take() -> Snapshot:
            nonlocal reloaded
            space.step(settings.clock.monotonic())
            if app.reloader.reloads.ok != reloaded:
                reloaded = app.reloader.reloads.ok
                settings.read_again()
            return take_snapshot(app, settings.clock, space.space, reached=lambda: probe is None or probe.reached)

        sources.silent_for = lambda: max(settings.clock.monotonic() - app.loop.stepped, 0.0)
        sources.sampler = sampler = Sampler(take)
        sampler.start()
        self._stack.callback(sampler.close)

    def stopping(self) -> None:
        """Note that a stop was requested: the agent is not ready any more."""
        self._startup.stopping = True

    def _probe(self, app: App) -> OutputProbe | None:
        output = app.pipeline.output
        if not isinstance(output, Remote):
            return None
        probe = OutputProbe(output, lambda: not app.pipeline.output.in_flight)
        probe.start()
        self._stack.callback(probe.close)
        return probe

    def _serve(self, listen: Callable[[HttpServer], None], *names: str) -> None:
        server = HttpServer(self._routes, names=(self._settings.name, *names))
        try:
            listen(server)
        except BaseException:
            server.close()
            raise
        server.start()
        self._stack.callback(server.close)

    def _listen_on_configured(self, server: HttpServer) -> None:
        http = self._settings.http
        try:
            if http.socket_path is not None:
                server.listen_at(Path(http.socket_path))
                logger.info("http: serving at %s", http.host)
            else:
                server.listen_on(http.host, http.port)
                logger.info("http: serving at http://%s:%d/", http.host, *server.ports)
        except OSError as error:
            raise StartError(_cannot_listen(http, error)) from error


def _cannot_listen(http: HttpConfig, error: OSError) -> str:
    if http.socket_path is not None:
        return f"http.host: cannot serve at {http.host}: {_in_words(error)}"
    place = f"{http.host}:{http.port}"
    if error.errno == errno.EADDRINUSE:
        return f"http.port: {place} is taken by another process, perhaps a second shipper; set another http.port"
    if isinstance(error, socket.gaierror):
        return f"http.host: {http.host!r} is not a name of this host: {error.strerror}; set localhost, or an address"
    return (
        f"http.host: cannot listen on {place}: {_in_words(error)}; set http.host and http.port to what this host has, "
        "or http.enabled: false"
    )


def _in_words(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"
