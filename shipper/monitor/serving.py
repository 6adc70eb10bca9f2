"""The servers of the agent's state: at the configured address, and on the socket in path.data."""

import errno
import logging
import socket
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from log_shipper.runtime.monitor.server import Handler, HttpServer
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.agent_socket import ADVICE_FOR_LENGTH
from log_shipper.shipper.options.http import HttpConfig

logger = logging.getLogger(__name__)


class Serving:
    """The servers. Each place has its own, so that clients of one do not slow the other: `routes` belong to the
    configured address, `own_routes` to the socket in path.data. `names` are allowed host names.
    """

    def __init__(
        self,
        routes: Mapping[str, Handler],
        own_routes: Mapping[str, Handler],
        http: HttpConfig,
        names: Collection[str],
    ) -> None:
        self._routes = routes
        self._own_routes = own_routes
        self._http = http
        self._names = names
        self._servers: list[HttpServer] = []

    def listen(self) -> None:
        """Serve at the configured address, if any. Raises StartError."""
        if self._http.enabled:
            try:
                self._serve(self._listen_on_configured, self._routes)
            except OSError as error:
                raise StartError(_cannot_listen(self._http, error)) from error

    def listen_at(self, path: Path) -> None:
        """Serve on the socket in path.data, if enabled and possible."""
        if self._http.socket:
            try:
                self._serve(lambda server: server.listen_at(path), self._own_routes)
            except OSError as error:
                logger.warning(
                    "'shipper top' and 'shipper tap' cannot connect, because path.data has no socket: %s; %sto "
                    "disable the socket, set http.socket: false",
                    _in_words(error),
                    f"{ADVICE_FOR_LENGTH}; " if error.errno == errno.ENAMETOOLONG else "",
                )

    def close(self) -> None:
        for server in self._servers:
            server.close()

    def _serve(self, listen: Callable[[HttpServer], None], routes: Mapping[str, Handler]) -> None:
        server = HttpServer(routes, names=self._names)
        self._servers.append(server)
        listen(server)
        server.start()

    def _listen_on_configured(self, server: HttpServer) -> None:
        http = self._http
        if http.socket_path is not None:
            server.listen_at(Path(http.socket_path))
            logger.info("http: serving at %s", http.host)
        else:
            server.listen_on(http.host, http.port)
            logger.info("http: serving at http://%s:%d/", http.host, *server.ports)


def _cannot_listen(http: HttpConfig, error: OSError) -> str:
    if http.socket_path is not None:
        return f"http.host: cannot serve at {http.host}: {_in_words(error)}"
    place = f"{http.host}:{http.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"http.port: {place} is in use by another process, perhaps another shipper: stop it, or set another "
            "http.port"
        )
    if isinstance(error, socket.gaierror):
        return f"http.host: {http.host!r} is not a name of this host: {error.strerror}; set localhost, or an address"
    return (
        f"http.host: cannot listen on {place}: {_in_words(error)}; set http.host and http.port to an address of "
        "this host, or http.enabled: false"
    )


def _in_words(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"
