"""Tracks the containers of one Docker daemon.

An event is only a hint; after each one, the container is listed again, so events may come twice, late or not at all. A
thread opens the stream of events since the last one it saw, lists all containers, and follows the stream; when that
ends, it starts again. A container that lived only while the stream was down is known from its events, if the daemon
still has them.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.docker.client import DockerClient, DockerError, EventStream
from log_shipper.shipper.docker.containers import SHORT_ID, ContainerEvent, DockerContainer

logger = logging.getLogger(__name__)

BACKOFF = Backoff(1.0, 30.0)
NEVER = float("inf")


class ContainerListener(Protocol):
    """Gets changes of containers on the watcher's thread: must not block for long or raise."""

    def started(self, container: DockerContainer) -> None:
        """Handle a started container, or a change of a running one. Already running ones come first."""

    def stopped(self, container: DockerContainer) -> None:
        """Handle the end of a container that was reported as started. Its log may stay for years."""

    def looked(self) -> None:
        """Handle a possible change: all containers were listed, or one of them, or that failed."""


class Waking:
    """A listener that reads the watcher itself when woken."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake

    def started(self, container: DockerContainer) -> None: ...

    def stopped(self, container: DockerContainer) -> None: ...

    def looked(self) -> None:
        self._wake()


@dataclass(slots=True)
class _Known:
    container: DockerContainer
    removed_at: float = NEVER  # and used_at: monotonic
    used_at: float = 0.0


@dataclass(slots=True)
class _State:
    """The state: changed only by the thread, one entry at a time, and read by others."""

    by_id: dict[str, _Known] = field(default_factory=dict)
    by_short_id: dict[str, _Known] = field(default_factory=dict)
    attempted: bool = False
    connected: bool = False


class Watcher:
    """Tracks containers from `start` until `close`, or until the watcher is no longer referenced.

    A removed container is kept until no one has asked for it for `cleanup_timeout` seconds, because its last lines
    are still being read.
    """

    def __init__(
        self,
        client: DockerClient,
        clock: Clock,
        cleanup_timeout: float = 60.0,
        listener: ContainerListener | None = None,
        backoff: Backoff = BACKOFF,
    ) -> None:
        self._clock = clock
        self._cleanup = cleanup_timeout
        self._state = _State()
        self._following = Following(client, clock, self._state, listener or Waking(), cleanup_timeout)
        # The thread must not reference the watcher, which otherwise would never be collected.
        self._thread = threading.Thread(target=self._following.run, args=(backoff,), name="docker", daemon=True)
        self._finalizer = weakref.finalize(self, self._following.stop)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread as soon as possible: a call that waits for the daemon ends by its own time limit."""
        self._finalizer()
        if self._thread.ident is not None:
            self._thread.join(1.0)

    @property
    def attempted(self) -> bool:
        """Return True after the containers were listed, or could not be."""
        return self._state.attempted

    @property
    def connected(self) -> bool:
        """Return True while the events are followed."""
        return self._state.connected

    def container(self, identity: str) -> DockerContainer | None:
        """Return the container with this id, or this prefix of it (12 characters or more). Callable from any thread;
        never blocks.
        """
        known = self._state.by_id.get(identity)
        if known is None and SHORT_ID <= len(identity) < 64:
            known = self._state.by_short_id.get(identity[:SHORT_ID])
        if known is None or not known.container.id.startswith(identity):
            return None
        now = self._clock.monotonic()
        if now - max(known.used_at, known.removed_at) > self._cleanup:
            return None
        known.used_at = now
        return known.container


class Following:
    """The thread's work: `run`, a sequence of `step`s."""

    def __init__(
        self, client: DockerClient, clock: Clock, state: _State, listener: ContainerListener, cleanup_timeout: float
    ) -> None:
        self._client = client
        self._clock = clock
        self._state = state
        self._listener = listener
        self._cleanup = cleanup_timeout
        self._stopping = threading.Event()
        self._stream: EventStream | None = None
        self._since: float | str = 0
        self._reported = ""  # the last problem logged

    def run(self, backoff: Backoff) -> None:
        attempts = 0
        while not self._stopping.is_set():
            try:
                self.step()
                attempts = 0
            except DockerError as error:
                attempts = 1 if self._state.connected else attempts + 1
                self._report(error)
            self._state.connected = False
            self._state.attempted = True
            self._listener.looked()
            self._stopping.wait(backoff.jittered(attempts))

    def stop(self) -> None:
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.interrupt()

    def step(self) -> None:
        """Follow one stream of events to its end. Raises DockerError."""
        self._since = self._since or int(self._clock.time())
        stream = self._stream = self._client.events(self._since)
        try:
            if self._stopping.is_set():  # and nothing interrupted the stream
                return
            self._list_all()
            for event in stream:
                self._take(event)
                self._listener.looked()
        finally:
            self._stream = None
            stream.close()

    def _list_all(self) -> None:
        containers = self._client.containers()
        for container in containers:
            self._note(container)
        listed = {container.id for container in containers}
        for identity in [identity for identity in self._state.by_id if identity not in listed]:
            self._note_removal(identity)
        if not self._state.attempted or self._reported:
            count = len(containers)
            logger.info("Docker at %s: %d container%s", self._client.place, count, "s"[: count != 1])
        self._state.connected = self._state.attempted = True
        self._reported = ""
        self._listener.looked()

    def _take(self, event: ContainerEvent) -> None:
        identity = event.container.id
        current = [] if event.action == "destroy" else self._client.containers(identity)
        if event.action == "start":
            self._note_start(event.container, current)
        if current:
            self._note(current[0])
        else:
            self._note_removal(identity)
        if event.time:
            self._since = f"{event.time // 10**9}.{event.time % 10**9:09}"

    def _note(self, container: DockerContainer) -> None:
        known = self._state.by_id.get(container.id)
        before = known.container if known is not None else None
        if known is None:
            known = _Known(container)
            self._state.by_short_id[container.id[:SHORT_ID]] = known
            self._state.by_id[container.id] = known
        known.removed_at = NEVER
        if container != before:  # the same object while nothing changes: derived values are cached
            known.container = container
        was_running = before is not None and before.is_running
        if container.is_running and container != before:
            self._listener.started(container)
        elif was_running and not container.is_running:
            self._listener.stopped(container)

    def _note_start(self, container: DockerContainer, current: list[DockerContainer]) -> None:
        """Report a container that has already ended when it is listed: short-lived ones have logs, too. Skip it if it
        is known to run, or was removed: then the event is an old one.
        """
        known = self._state.by_id.get(container.id)
        if known is None or (known.removed_at == NEVER and not known.container.is_running):
            self._note(replace(current[0], is_running=True) if current else container)

    def _note_removal(self, identity: str) -> None:
        known = self._state.by_id.get(identity)
        if known is not None and known.removed_at == NEVER:
            was_running = known.container.is_running
            known.removed_at = self._clock.monotonic()
            known.container = replace(known.container, is_running=False)
            if was_running:
                self._listener.stopped(known.container)
        self._sweep()

    def _sweep(self) -> None:
        """Forget removed containers that no one asks for: containers come and go for months."""
        now = self._clock.monotonic()
        for identity, known in list(self._state.by_id.items()):
            if known.removed_at < NEVER and now - max(known.used_at, known.removed_at) > self._cleanup:
                del self._state.by_id[identity]
                if self._state.by_short_id.get(identity[:SHORT_ID]) is known:
                    del self._state.by_short_id[identity[:SHORT_ID]]

    def _report(self, error: DockerError) -> None:
        """Log a problem once, until it ends or changes. A daemon that is not installed (every new installation
        configures the processor) or restarting is not a problem.
        """
        text = str(error)
        if text != self._reported:
            level = logging.INFO if error.is_missing or self._state.connected else logging.WARNING
            logger.log(level, "%s. Until it responds, container metadata comes only from files", text)
        self._reported = text
