"""Requests to Docker's Engine API: over its unix socket, or TCP with or without TLS.

Every call blocks. No proxy is used. Paths have no version, so that the daemon uses its own: the parts used here are
unchanged since 1.24, and any fixed version is refused eventually (Docker 29 accepts 1.44 or later). Podman's service
also supports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.client import HTTPResponse, IncompleteRead
from urllib.parse import urlencode

from log_shipper.runtime.http import FAILURES, Connection, Place, TooLarge
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.docker.containers import ContainerEvent, DockerContainer, event_of, parse_listed
from log_shipper.shipper.errors import ShipperError

ANSWER_SECONDS = 10.0  # for a whole response
# A daemon on a machine that is switched off does not close the connection: after this time without an event it is
# queried again.
SILENCE_SECONDS = 600.0
MAX_BYTES = 32 * 1024**2  # of a response: a container takes about 3 kB
MAX_EVENT_BYTES = 1024**2
MAX_ERROR_LENGTH = 300  # characters of the daemon's error message
# Other events, mainly health checks, change nothing relevant.
ACTIONS = ("create", "start", "die", "destroy", "rename", "update")


class DockerError(ShipperError):
    """Raised when Docker does not respond or refuses, with a message for the user. `is_missing`: nothing exists that
    could respond.
    """

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.is_missing = is_missing


class DockerClient:
    """A client of the daemon at `place`, usable from any thread."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self.place = place
        self._clock = clock

    def containers(self, identity: str = "") -> list[DockerContainer]:
        """Return all containers, including ended ones; with an id, only that one if it exists. Raises DockerError."""
        query = {"all": "1"} | ({"filters": json.dumps({"id": [identity]})} if identity else {})
        with closing(self._asked("/containers/json", query)) as connection, _errors_in_words(self.place):
            document = json.loads(connection.body(MAX_BYTES))
        if not isinstance(document, list):
            raise DockerError(
                f"Docker at {self.place}: the response is no list of containers. The server there is not Docker"
            )
        containers = [container for entry in document if (container := parse_listed(entry)) is not None]
        return [container for container in containers if identity in ("", container.id)]

    def events(self, since: float | str) -> EventStream:
        """Return the stream of events since a time (seconds since 1970). Raises DockerError."""
        filters = json.dumps({"type": ["container"], "event": ACTIONS})
        return EventStream(self.place, self._asked("/events", {"since": since, "filters": filters}))

    def _asked(self, path: str, query: Mapping[str, object]) -> Connection:
        """Return a connection with the response, which has a time limit. Raises DockerError."""
        connection = Connection(self.place, ANSWER_SECONDS, self._clock.monotonic)
        try:
            with _errors_in_words(self.place):
                answer = connection.ask(f"{path}?{urlencode(query)}", until=self._clock.monotonic() + ANSWER_SECONDS)
                if answer.status != 200:
                    raise DockerError(f"Docker at {self.place} responds with status {answer.status}: {_words(answer)}")
        except DockerError:
            connection.close()
            raise
        return connection


class EventStream:
    """Container events as they happen. Iterating blocks, and raises DockerError when the stream breaks; it ends when
    the daemon ends it, after a long silence, and by `interrupt`.
    """

    def __init__(self, place: Place, connection: Connection) -> None:
        self._place = place
        self._connection = connection

    def __iter__(self) -> Iterator[ContainerEvent]:
        with _errors_in_words(self._place):
            try:
                for line in self._connection.lines(MAX_EVENT_BYTES, SILENCE_SECONDS):
                    event = event_of(json.loads(line)) if line.strip() else None
                    if event is not None and event.action in ACTIONS:
                        yield event
            except TooLarge as error:
                what = f"an event larger than {MAX_EVENT_BYTES} bytes"
                raise DockerError(f"Docker at {self._place} sends {what}") from error
            except (TimeoutError, IncompleteRead):
                return
            except FAILURES:
                if not self._connection.is_interrupted:
                    raise

    def interrupt(self) -> None:
        """End the iteration from another thread."""
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


def _words(refusal: HTTPResponse) -> str:
    words = refusal.read(MAX_ERROR_LENGTH).decode("utf-8", "replace").strip()
    with suppress(ValueError, TypeError, KeyError):
        words = str(json.loads(words)["message"])
    return words


@contextmanager
def _errors_in_words(place: Place) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise DockerError(f"no Docker at {place} ({error.strerror})", is_missing=True) from error
    except PermissionError as error:
        raise DockerError(
            f"no permission for Docker's socket at {place}; add the agent's user to the socket's group (usually docker)"
        ) from error
    except OSError as error:
        raise DockerError(f"cannot query Docker at {place}: {error.strerror or error}") from error
    except TooLarge as error:
        raise DockerError(f"Docker at {place} does not finish its response ({error.size} bytes so far)") from error
    except (*FAILURES, RecursionError) as error:
        raise DockerError(
            f"Docker at {place} closed the connection, or the server there is not Docker: {error!r}"
        ) from error
