"""The sink's HTTP endpoints: metrics for Prometheus, health for a supervisor, and a page for people.

`/metrics`  Prometheus' text format.
`/health`   200 while the sink is healthy, else 503; both with {"status":…,"silent_seconds":…,"stalled_seconds":…,
            "limit_seconds":…}.
`/status`   the state as one JSON document (`document`), which the page at `/` draws.

A sink is healthy if it made progress (defined in `liveness`) within the limit: ten trigger intervals, and at least five
minutes. It is healthy during a long batch while parts of the batch complete: a restart would begin the batch again.
`silent_seconds` counts from the last batch, or the last check without new records: Spark reports an idle query every
ten seconds.
"""

import json
import logging
import re
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from log_shipper.runtime.logs.recent import RecentMessages
from log_shipper.runtime.monitor.health import Health, StateClock
from log_shipper.runtime.monitor.page import page, page_routes, wants_page
from log_shipper.runtime.monitor.server import Handler, HttpServer, Request, Response
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.logs import LOGGERS
from log_shipper.spark_sink.monitor.document import Program, document
from log_shipper.spark_sink.monitor.health import Inactivity, health
from log_shipper.spark_sink.monitor.metrics import SinkMetrics
from log_shipper.spark_sink.monitor.observations import Observations, SinkState
from log_shipper.spark_sink.monitor.processes import Usage, usage
from log_shipper.spark_sink.monitor.samples import Sample, Sampler, Samples

MIN_LIMIT = 300.0
INTERVALS = 10
MAX_CHARACTERS = 600  # characters of a warning or error that the page shows
# Spark's errors begin with a class like [CAST_INVALID_INPUT]; the text after it may quote a value of a row. More people
# can read the page than the log.
_SPARK_ERROR = re.compile(r"(\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\]).*", re.DOTALL)


def silence_limit(trigger_interval: float) -> float:
    """Return the seconds without progress after which a sink counts as stalled."""
    return max(MIN_LIMIT, INTERVALS * trigger_interval)


def recent_problems() -> RecentMessages:
    """Return the log handler that keeps warnings and errors for the page."""
    return RecentMessages(_shown)


def _shown(message: str) -> str:
    """Return the message without values that Spark quotes, at most MAX_CHARACTERS of it."""
    text = _SPARK_ERROR.sub(r"\1 (the log has the rest)", message)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


@dataclass(frozen=True, slots=True)
class Monitored:
    """The endpoints and their data. The handlers run on the server's threads. `limit`: from `silence_limit`; `clock`:
    seconds of the epoch."""

    metrics: SinkMetrics
    observations: Observations
    limit: float
    program: Program
    clock: Callable[[], float] = time.time
    samples: Samples = field(default_factory=Samples)
    problems: RecentMessages = field(default_factory=recent_problems)
    states: StateClock = field(default_factory=StateClock)
    usage: Callable[[], Usage] = usage

    def routes(self) -> Mapping[str, Handler]:
        return {
            "/": self.start_page,
            "/metrics": self.prometheus,
            "/health": self.health,
            "/status": self.status,
            **page_routes(),
        }

    def start_page(self, request: Request) -> Response:
        return page() if wants_page(request) else _json(200, self.program.head())

    def prometheus(self, request: Request) -> Response:
        return Response(200, CONTENT_TYPE_LATEST, generate_latest(self.metrics.registry))

    def health(self, request: Request) -> Response:
        stalled = self.metrics.stalled_for()
        healthy = stalled <= self.limit
        body = {
            "status": "ok" if healthy else "stalled",
            "silent_seconds": round(self.metrics.silent_for(), 1),
            "stalled_seconds": round(stalled, 1),
            "limit_seconds": self.limit,
        }
        return _json(200 if healthy else 503, body)

    def sample(self) -> None:
        """Add a sample of the current state, and update the health."""
        state, now = self.observations.state, self.clock()
        used = self.usage()
        self.metrics.set_usage(used)
        self.samples.add(now, _sample_of(state, used, now))
        self._judged(state, now)

    def _judged(self, state: SinkState, now: float) -> Health:
        inactivity = Inactivity(self.metrics.silent_for(), self.metrics.stalled_for(), self.limit)
        return self.states.timed(health(state, inactivity, self.samples.lags(), now), now)

    def status(self, request: Request) -> Response:
        state, now = self.observations.state, self.clock()
        judged = self._judged(state, now)
        problems = self.problems.newest_first()
        return _json(200, document(self.program, state, judged, self.samples, problems, now))


def _sample_of(state: SinkState, used: Usage, now: float) -> Sample:
    return Sample(
        state.rows,
        state.lag,
        state.longest_lag_seconds(now),
        state.batch_seconds,
        state.longest,
        state.shortest,
        state.topics,
        used.cpu_seconds,
        used.memory,
    )


class MonitorServer:
    """Serves during the `with` block, on its own threads. Raises SinkError if it cannot listen."""

    def __init__(self, monitored: Monitored, host: str, port: int) -> None:
        self._monitored = monitored
        self._server = HttpServer(monitored.routes(), names=(socket.gethostname(),))
        self._sampler = Sampler(monitored.sample)
        self._opened = ExitStack()
        try:
            self._server.listen_on(host, port)
        except OSError as error:
            self._server.close()
            raise SinkError(
                f"cannot serve metrics on {host}:{port}: {error.strerror or error}; set http.host and http.port to a "
                "free address of this machine, or http.enabled: false"
            ) from error

    @property
    def port(self) -> int:
        """The port that the server listens on, even if port 0 is configured."""
        return self._server.ports[0]

    def __enter__(self) -> Self:
        for logger in map(logging.getLogger, LOGGERS):
            logger.addHandler(self._monitored.problems)
            self._opened.callback(logger.removeHandler, self._monitored.problems)
        self._opened.enter_context(self._sampler)
        self._server.start()
        self._opened.callback(self._server.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()


def _json(status: int, body: Mapping[str, Any]) -> Response:
    return Response(status, "application/json", json.dumps(body).encode() + b"\n")
