"""`/tap`: events as they are sent, one JSON object a line, until the client leaves.

{"topic":…,"key":…,"headers":[…],"path":…,"value":…}      an event
{"counts":{"matching":…,"others":…,"dropped":…}}          at the start and each second

The query has `rate`, events a second, and `targets`: a JSON list of inputs' ids and of files' paths or globs.

`/tap/sources`: one JSON object that shows why no events appear. The query has `targets`.

{"inputs":{"count":1,"some":["app"]},"files":{"count":12,"some":["/var/log/app.log",…]},"unknown":["ap"]}
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

from log_shipper.runtime.monitor.server import Handler, Request, Response
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import TooManyTaps
from log_shipper.shipper.tap.tap import MAX_RATE, EventFilter, Subscription, Tap

COUNTS_INTERVAL = 1.0  # seconds
WAIT = 0.25  # seconds between checks whether the client has left
MAX_TARGETS = 1000
MAX_LISTED = 10  # of inputs and of files
MAX_EXAMINED = 20  # targets compared with each open file
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class TapSources:
    """Possible sources of events: inputs by id, with their paths, and the paths of open files."""

    inputs: Mapping[str, Sequence[str]]
    files: Sequence[str]

    def is_known(self, target: str) -> bool:
        """Return True for an input, one of its paths, a file it would read, and an open file."""
        if target in self.inputs or any(map(partial(EventFilter([target]).includes, ""), self.files)):
            return True
        return any(paths and EventFilter(paths).includes("", target) for paths in self.inputs.values())


def tap_route(tap: Tap, clock: Clock) -> Handler:
    """Return the handler for the socket in path.data: events are as confidential as the files, and exposing another
    endpoint, for example by a proxy, must not expose this."""

    def answer(request: Request) -> Response:
        try:
            wanted, rate = EventFilter(_targets(request.query)), _rate(request.query)
        except ValueError as error:
            return _refusal(400, str(error))
        try:
            return Response(200, LINES, TapResponse(tap, tap.subscribe(wanted, rate), clock))
        except TooManyTaps as error:
            return _refusal(503, str(error))

    return answer


def no_tap(_: Request) -> Response:
    """Refuse, at all endpoints except the socket."""
    return _refusal(403, "/tap is served on shipper.sock in path.data only: events are as confidential as the files")


def sources_route(tappable: Callable[[], TapSources]) -> Handler:
    def answer(request: Request) -> Response:
        try:
            targets = _targets(request.query)
        except ValueError as error:
            return _refusal(400, str(error))
        now = tappable()
        members = {
            "inputs": _some(list(now.inputs)),
            "files": _some(now.files),
            "unknown": [target for target in targets[:MAX_EXAMINED] if not now.is_known(target)],
        }
        return Response(200, JSON, _line(members))

    return answer


def _some(names: Sequence[str]) -> Mapping[str, Any]:
    return {"count": len(names), "some": names[:MAX_LISTED]}


def _refusal(status: int, text: str) -> Response:
    return Response(status, TEXT, f"{text}\n".encode())


def _targets(query: Mapping[str, str]) -> list[str]:
    """Return the targets of a request. Raises ValueError."""
    try:
        targets = json.loads(query.get("targets", "[]"))
    except ValueError:
        targets = None
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise ValueError("targets must be a JSON list of texts")
    if len(targets) > MAX_TARGETS:
        raise ValueError(
            f"{len(targets)} inputs and files are too many: the maximum is {MAX_TARGETS}; a quoted glob counts as one"
        )
    return targets


def _rate(query: Mapping[str, str]) -> float:
    """Return the rate of a request. Raises ValueError."""
    problem = f"rate must be a number of events a second above 0 and up to {MAX_RATE:g}"
    try:
        rate = float(query.get("rate", "10"))
    except ValueError:
        raise ValueError(problem) from None
    if math.isnan(rate) or not 0 < rate <= MAX_RATE:
        raise ValueError(problem)
    return rate


class TapResponse(Iterator[bytes]):
    """The response. Used by a thread of the server. Empty while there is nothing to send; `close` ends the
    subscription, even if nothing was read."""

    def __init__(self, tap: Tap, subscription: Subscription, clock: Clock) -> None:
        self._tap = tap
        self._subscription = subscription
        self._clock = clock
        self._counts_due = 0.0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if not self._subscription.is_open:
            raise StopIteration
        now = self._clock.monotonic()
        if now >= self._counts_due:
            self._counts_due = now + COUNTS_INTERVAL
            return _line({"counts": asdict(self._subscription.counts)})
        sample = self._subscription.next_sample(WAIT)
        return b"" if sample is None else _line(asdict(sample))

    def close(self) -> None:
        self._tap.unsubscribe(self._subscription)


def _line(value: object) -> bytes:
    # As ASCII: a file name may have bytes that are not UTF-8.
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
