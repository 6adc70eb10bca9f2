"""Asks all services once, at the same time, and decides which cloud it is.

A provider wins over later ones in `providers.PROVIDERS`. The decision is made when a provider has responded and no
earlier one can any more, or at the time limit; later responses have no effect.
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
    """Start a daemon thread: a stop waits for none of them, not even while one resolves a name."""
    threading.Thread(target=work, name=name, daemon=True).start()


class CloudSearch:
    """The search; `members` are added to events, by name; empty until there is a response, or if there is none."""

    def __init__(self, providers: Sequence[Provider], timeout: float, clock: Clock, wake: Callable[[], None]) -> None:
        """Search; one of the threads calls `wake` after the decision."""
        self.until = clock.monotonic() + timeout
        self.members: Doc = {}
        self._timeout = timeout
        self._providers = providers
        self._clock = clock
        self._wake = wake
        self._lock = threading.Lock()
        self._answers: dict[str, Doc] = {}  # by provider name; empty if it has none
        self._done = not providers

    def start(self, make_service: MakeService, start_thread: StartThread = on_new_thread) -> None:
        for provider in self._providers:
            try:
                start_thread(partial(self._ask, provider, make_service), f"cloud-{provider.name}")
            except RuntimeError:  # the system cannot start another thread
                self._take(provider.name, {})

    def is_done(self) -> bool:
        """Return True after the decision, at the latest at the time limit. Called by the reading thread; never blocks
        for long.
        """
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
        """Decide if possible; with `everything`, no more responses are awaited. The caller has the lock."""
        if self._done:
            return
        for provider in self._providers:
            answer = self._answers.get(provider.name)
            if answer:
                self.members = answer
                logger.info("add_cloud_metadata: cloud %s: %s", answer["cloud"]["provider"], answer["cloud"])
                break
            if answer is None and not everything:
                return
        else:
            logger.info(
                "add_cloud_metadata: no response from %s within %s. Events get no cloud fields until the next start. "
                "If the host is in no cloud, remove the processor",
                ", ".join(provider.name for provider in self._providers),
                readable_duration(self._timeout),
            )
        self._done = True
