"""The served paths and their responses."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from log_shipper.runtime.monitor.document import Document
from log_shipper.runtime.monitor.health import Health, StateClock
from log_shipper.runtime.monitor.page import page, page_routes, wants_page
from log_shipper.runtime.monitor.server import Handler, Request, Response
from log_shipper.shipper.monitor import filebeat_stats, health
from log_shipper.shipper.monitor.sampler import Sampler
from log_shipper.shipper.monitor.snapshot import Snapshot
from log_shipper.shipper.monitor.status import AgentIdentity, status

JSON = "application/json; charset=utf-8"


@dataclass(slots=True)
class Sources:
    """The sources of the responses. `sampler` and `silent_for` are set when the agent is composed."""

    identity: AgentIdentity
    ephemeral_id: str
    startup: health.StartProgress
    errors: Callable[[], Any]
    configuration: Callable[[], str]
    sampler: Sampler | None = None
    silent_for: Callable[[], float] = lambda: 0.0
    states: StateClock = field(default_factory=StateClock)

    @property
    def snapshot(self) -> Snapshot | None:
        return None if self.sampler is None else self.sampler.latest

    def health(self) -> Health:
        acked = (
            None if self.sampler is None else self.sampler.rates.rate_of(lambda snapshot: snapshot.metrics.events_acked)
        )
        snapshot = self.snapshot
        judged = health.health_of(snapshot, self.startup, acked)
        return self.states.timed(judged, self.identity.started if snapshot is None else snapshot.time)

    def status(self) -> Document:
        return status(self.identity, self.sampler, self.health(), self.errors(), self.configuration())


def routes(sources: Sources) -> Mapping[str, Handler]:
    def root(request: Request) -> Response:
        if wants_page(request):
            return page()
        return _json(request, filebeat_stats.info(sources.identity, sources.ephemeral_id))

    def stats(request: Request) -> Response:
        snapshot = sources.snapshot
        if snapshot is None:
            return _starting(request)
        return _json(request, filebeat_stats.stats(sources.identity, sources.ephemeral_id, snapshot))

    def inputs(request: Request) -> Response:
        snapshot = sources.snapshot
        return _starting(request) if snapshot is None else _json(request, filebeat_stats.inputs(snapshot))

    def healthz(request: Request) -> Response:
        is_alive, document = health.alive(sources.snapshot, sources.silent_for())
        return _json(request, document, 200 if is_alive else 503)

    def readyz(request: Request) -> Response:
        is_ready, document = health.ready(sources.snapshot, sources.startup)
        return _json(request, document, 200 if is_ready else 503)

    return {
        "/": root,
        "/stats": stats,
        "/inputs": inputs,
        "/status": lambda request: _json(request, sources.status()),
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": MetricsText(sources),
        **page_routes(),
    }


class MetricsText:
    """Responds to /metrics. The text is created once per snapshot, regardless of the number of requests."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._made: tuple[Snapshot | None, Response] | None = None

    def __call__(self, request: Request) -> Response:
        from log_shipper.shipper.monitor.exposition import CONTENT_TYPE_LATEST, exposition  # few have a Prometheus

        snapshot, made = self._sources.snapshot, self._made
        if made is None or made[0] is not snapshot:
            body = exposition(self._sources.identity, snapshot)
            made = self._made = snapshot, Response(200, CONTENT_TYPE_LATEST, body)
        return made[1]


def _json(request: Request, document: object, status: int = 200) -> Response:
    # As ASCII: file names may contain bytes that are not UTF-8.
    text = json.dumps(document, indent=2 if "pretty" in request.query else None)
    return Response(status, JSON, f"{text}\n".encode())


def _starting(request: Request) -> Response:
    return _json(request, {"error": "the shipper is starting and has no figures yet", "time": time.time()}, 503)
