"""Asks all services at the same time, once, and decides which cloud it is.

A provider wins over those behind it in the order of `providers.PROVIDERS`. So the answer is there when a provider has
answered and none before it can any more, or when the time is over; what comes later changes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial

from log_shipper.config.text.units import readable_duration
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.cloud.providers import Provider
from log_shipper.shipper.cloud.service import NoMetadata, Service
from log_shipper.shipper.event import Doc

logger = logging.getLogger(__name__)

MakeService = Callable[[Provider, float], Service]  # by the provider and its deadline; raises NoMetadata
StartThread = Callable[[Callable[[], None], str], None]


def on_new_thread(work: Callable[[], None], name: str) -> None:
    """Start a daemon thread: the agent waits for none of them when it stops, not even for one that resolves a name."""
    threading.Thread(target=work, name=name, daemon=True).start()


class CloudSearch:
    """`members` are those that are added to events, by name; empty before there is an answer, or if there is none."""

    def __init__(self, providers: Sequence[Provider], timeout: float, clock: Clock, wake: Callable[[], None]) -> None:
        """`wake` is called, by one of the threads, when it is decided."""
        self.until = clock.monotonic() + timeout
        self.members: Doc = {}
        self._timeout = timeout
        self._providers = providers
        self._clock = clock
        self._wake = wake
        self._lock = threading.Lock()
        self._answers: dict[str, Doc] = {}  # by the provider's name; empty where it has none
        self._done = not providers

    def start(self, make_service: MakeService, start_thread: StartThread = on_new_thread) -> None:
        for provider in self._providers:
            try:
                start_thread(partial(self._ask, provider, make_service), f"cloud-{provider.name}")
            except RuntimeError:  # the system cannot start another thread
                self._take(provider.name, {})

    def is_done(self) -> bool:
        """True if it is decided, which it is when the time is over. Called by the reading thread; never blocks long."""
        if not self._done and self._clock.monotonic() >= self.until:
            with self._lock:
                self._decide(everything=True)
        return self._done

    def _ask(self, provider: Provider, make_service: MakeService) -> None:
        try:
            answer = provider.fetch(make_service(provider, self.until))
        except NoMetadata as error:
            logger.debug("no metadata of %s: %s", provider.name, error)
            answer = {}
        self._take(provider.name, answer)

    def _take(self, name: str, answer: Doc) -> None:
        with self._lock:
            if self._done:
                return
            self._answers[name] = answer
            self._decide(everything=False)
        if self._done:
            self._wake()

    def _decide(self, *, everything: bool) -> None:
        """Decide if that is possible; with `everything` no more answers are awaited. The lock is the caller's."""
        if self._done:
            return
        for provider in self._providers:
            answer = self._answers.get(provider.name)
            if answer:
                self.members = answer
                logger.info("add_cloud_metadata: the cloud is %s: %s", answer["cloud"]["provider"], answer["cloud"])
                break
            if answer is None and not everything:
                return
        else:
            logger.info(
                "add_cloud_metadata: none of %s has answered within %s; events get no cloud fields",
                ", ".join(provider.name for provider in self._providers),
                readable_duration(self._timeout),
            )
        self._done = True
