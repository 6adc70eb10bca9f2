"""Queries the document repeatedly on a separate thread: a program that does not respond must not block the keys."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from log_shipper.runtime.http import Place
from log_shipper.runtime.monitor.client import get
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.running_agent import errors_in_words, not_ours
from log_shipper.shipper.top.document import Document, parse

PATH = "/status"
PATIENCE = 3.0  # seconds for a response


@dataclass(frozen=True, slots=True)
class Latest:
    """The last document, and why there is no newer one."""

    document: Document | None = None
    problem: str = ""


def ask(place: Place) -> Document:
    """Query the document. Raises StartError."""
    with errors_in_words(place):
        body = get(place, PATH, PATIENCE)
    try:
        return parse(body)
    except ValueError as error:
        raise StartError(not_ours(place, str(error))) from error


class Watch:
    """The queries; `latest` may be read at any time."""

    def __init__(self, place: Place, interval: float, asked: Callable[[Place], Document] = ask) -> None:
        self.latest = Latest()
        self._place = place
        self._interval = interval
        self._ask = asked
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def step(self) -> None:
        try:
            self.latest = Latest(self._ask(self._place))
        except StartError as error:
            self.latest = Latest(self.latest.document, f"{error}. Next attempt every {self._interval:g} s.")

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.step()
            self._stopping.wait(self._interval)
