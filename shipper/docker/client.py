"""Questions to Docker's Engine API: over its unix socket, or TCP with or without TLS.

Every call blocks, for threads that may wait. No proxy is used. Paths have no version, so that the daemon answers in its
own: what is read here has been the same since 1.24, and a fixed version is refused sooner or later (the oldest one that
Docker 29 takes is 1.44). Podman's service speaks it, too.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlencode

from log_shipper.runtime.monitor.client import Place
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.docker.containers import ContainerEvent, DockerContainer, event_of, listed
from log_shipper.shipper.errors import ShipperError

ANSWER_SECONDS = 10.0  # for a whole answer
# A daemon whose machine is switched off closes no connection: after so long without an event it is asked again.
SILENCE_SECONDS = 600.0
MOST_BYTES = 32 * 1024**2  # of an answer: a container takes some 3 kB
MOST_EVENT_BYTES = 1024**2
MOST_WORDS = 300  # characters of what the daemon answers to what it refuses
# The others, of health checks above all, change nothing that is of interest here.
ACTIONS = ("create", "start", "die", "destroy", "rename", "update")


class DockerError(ShipperError):
    """Raised when Docker does not answer, or refuses; the message is for a person. `is_missing`: nothing is there that
    could answer."""

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.is_missing = is_missing


class DockerClient:
    """Asks the daemon at `place`. Any thread may call it."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self.place = place
        self._clock = clock

    def containers(self, identity: str = "") -> list[DockerContainer]:
        """Return all containers, ended ones too; with an id, this one if it is there. Raises DockerError."""
        query = {"all": "1"} | ({"filters": json.dumps({"id": [identity]})} if identity else {})
        stream = _Stream(self.place, f"/containers/json?{urlencode(query)}")
        try:
            document = stream.document(self._clock)
        finally:
            stream.close()
        if not isinstance(document, list):
            raise DockerError(f"Docker at {self.place} does not list containers: what answers there is not Docker")
        containers = [container for entry in document if (container := listed(entry)) is not None]
        return [container for container in containers if identity in ("", container.id)]

    def events(self, since: float | str) -> EventStream:
        """Return the stream of events since a time (seconds since 1970). Raises DockerError."""
        filters = json.dumps({"type": ["container"], "event": ACTIONS})
        return EventStream(_Stream(self.place, f"/events?{urlencode({'since': since, 'filters': filters})}"))


class EventStream:
    """The events of containers, as they happen. Iterating blocks, and raises DockerError when the stream breaks off; it
    ends when the daemon ends it, after a long silence, and by `interrupt`."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[ContainerEvent]:
        for document in self._stream.lines():
            event = event_of(document)
            if event is not None and event.action in ACTIONS:
                yield event

    def interrupt(self) -> None:
        """End the iteration. Called by another thread."""
        self._stream.interrupt()

    def close(self) -> None:
        self._stream.close()


class _Stream:
    """One GET and its answer. Raises DockerError, from each of its methods."""

    def __init__(self, place: Place, path: str) -> None:
        self._place = place
        self._interrupted = False
        try:
            self._connection: HTTPConnection = place.connection(ANSWER_SECONDS)
        except OSError as error:
            raise DockerError(f"the files of ssl for Docker at {place} cannot be read: {error}") from error
        try:
            self._connection.connect()
            # http.client hands it over to the answer, and no longer has it.
            self._socket: socket.socket = self._connection.sock
            self._connection.request("GET", path)
            self._response = self._connection.getresponse()
            self._check(self._response)
        except (OSError, HTTPException, ValueError) as error:
            self._connection.close()
            raise self._error(error) from error
        except DockerError:
            self._connection.close()
            raise

    def document(self, clock: Clock) -> Any:
        """Return the answer's JSON, which is bounded in size and in time."""
        deadline, content = clock.monotonic() + ANSWER_SECONDS, bytearray()
        try:
            while piece := self._response.read1(65536):
                content += piece
                if len(content) > MOST_BYTES or clock.monotonic() > deadline:
                    raise DockerError(f"Docker at {self._place} does not end its answer ({len(content)} bytes so far)")
            return json.loads(content)
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise self._error(error) from error

    def lines(self) -> Iterator[Any]:
        """Yield the JSON of each line."""
        self._socket.settimeout(SILENCE_SECONDS)
        try:
            while line := self._response.readline(MOST_EVENT_BYTES + 1):
                if len(line) > MOST_EVENT_BYTES:
                    raise DockerError(f"Docker at {self._place} sends an event of more than {MOST_EVENT_BYTES} bytes")
                if line.strip():
                    yield json.loads(line)
        except TimeoutError:
            return
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            if not self._interrupted:
                raise self._error(error) from error

    def interrupt(self) -> None:
        self._interrupted = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def _check(self, response: HTTPResponse) -> None:
        if response.status == 200:
            return
        words = response.read(MOST_WORDS).decode("utf-8", "replace").strip()
        with suppress(ValueError, TypeError, KeyError):
            words = str(json.loads(words)["message"])
        raise DockerError(f"Docker at {self._place} answers with status {response.status}: {words}")

    def _error(self, error: Exception) -> DockerError:
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return DockerError(f"there is no Docker at {self._place} ({error.strerror})", is_missing=True)
        if isinstance(error, PermissionError):
            return DockerError(
                f"the agent may not use Docker's socket at {self._place}; add its user to the socket's group "
                "(docker, as a rule)"
            )
        if isinstance(error, OSError):
            return DockerError(f"Docker at {self._place} does not answer: {error.strerror or error}")
        return DockerError(f"Docker at {self._place} breaks off, or what answers there is not Docker: {error!r}")
