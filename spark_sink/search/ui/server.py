"""`spark-sink ui`: serves the page and its answers, and checks who may see them."""

import hmac
import json
import logging
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from threading import Semaphore
from typing import Any

import pyarrow as pa

from log_shipper import VERSION
from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.runtime.monitor.page import files_of, page_routes
from log_shipper.runtime.monitor.server import Handler, HttpServer, MonitorLimits, Request, Response
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import UiConfig
from log_shipper.spark_sink.platform.stop_signals import stop_signals
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import NoTable
from log_shipper.spark_sink.search.ui import answers, counting
from log_shipper.spark_sink.search.ui.answers import PageRequest
from log_shipper.spark_sink.search.ui.sources import Source, source_of, sources
from log_shipper.spark_sink.search.ui.stream import Slots, Stream

logger = logging.getLogger(__name__)

FOLDER = Path(__file__).parent / "page"
LIMITS = MonitorLimits(connections=64, streams=32, connection_seconds=60.0, write_seconds=30.0)
_WORKING, _FOLLOWING, _DOWNLOADING = 4, 16, 2  # answers at the same time
_LOOK = 0.5  # seconds between two checks for a signal
_UNLIKE = {"message", "file_id", "doc", "fields", "key", "value"}  # columns with nearly unique values
_MEMBERS = ("log.level", "stream")  # of `doc`, with few values

Work = Callable[[PageRequest, Stream], None]


@dataclass(slots=True)
class SearchPage:
    """The handlers of the page and its data. With a `token`, data requests must have it."""

    sources: Sequence[Source]
    token: str = ""
    _working: Slots = field(default_factory=lambda: Slots(Semaphore(_WORKING)))
    _following: Slots = field(
        default_factory=lambda: Slots(
            Semaphore(_FOLLOWING), f"too many followers (maximum: {_FOLLOWING}): try again later"
        )
    )
    _downloading: Slots = field(default_factory=lambda: Slots(Semaphore(_DOWNLOADING)))

    def routes(self) -> Mapping[str, Handler]:
        """Return the handlers by path: the page's files for everyone, the data only for authorised requests."""
        data: dict[str, Handler] = {
            "/tables": self.tables,
            "/rows": partial(self._stream, answers.rows, self._working),
            "/counts": partial(self._stream, counting.counts, self._working),
            "/follow": partial(self._stream, answers.follow, self._following),
            "/context": partial(self._stream, answers.context, self._working),
            "/download": self.download,
        }
        return {**page_routes(), **files_of(FOLDER), **{path: partial(self._guarded, data[path]) for path in data}}

    def tables(self, request: Request) -> Response:
        described = [table for source in self.sources if (table := _described(source)) is not None]
        limits = {"max_rows": answers.MAX_ROWS, "max_download": answers.MAX_DOWNLOAD}
        return _json({"version": VERSION, **limits, "tables": described})

    def download(self, request: Request) -> Response:
        kinds: dict[str, tuple[Work, str]] = {
            "ndjson": (answers.ndjson, "application/x-ndjson"),
            "parquet": (answers.parquet_file, "application/vnd.apache.parquet"),
        }
        if (kind := request.query.get("format", "ndjson")) not in kinds:
            raise RefusedRequest(400, f"format is {kind[:20]!r}: must be {' or '.join(kinds)}")
        work, content_type = kinds[kind]
        stream = Stream(partial(_answer, work, self._asked(request)), self._downloading, is_document=True)
        return Response(200, content_type, stream.body())

    def _stream(self, work: Work, slots: Slots, request: Request) -> Response:
        stream = Stream(partial(_answer, work, self._asked(request)), slots)
        return Response(200, "application/x-ndjson", stream.body())

    def _asked(self, request: Request) -> PageRequest:
        name = request.query.get("table", self.sources[0].name)
        source = next((source for source in self.sources if source.name == name), None)
        if source is None:
            raise RefusedRequest(400, f"there is no table {name[:100]!r}; /tables lists them")
        try:
            return PageRequest(source, request.query)
        except SinkError as error:
            raise RefusedRequest(400, str(error)) from error

    def _guarded(self, handler: Handler, request: Request) -> Response:
        """Refuse requests without the token, and from pages of other sites: those could not read the answer, but cause
        work for this process."""
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise RefusedRequest(403, "the request comes from a page of another site")
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            text = "the token is missing or wrong: use ui.token of the sink's configuration"
            raise RefusedRequest(401, text, {"WWW-Authenticate": "Bearer"})
        return handler(request)


def _answer(work: Work, asked: PageRequest, stream: Stream) -> None:
    asked.judge = ConditionFilter()
    try:
        work(asked, stream)
    except SinkError:
        asked.source.forget()
        raise


def serve(config: SinkConfig | None, tables: Sequence[str] | None, port: int | None) -> int:
    """Serve the page for a configuration, or for tables by path, until a signal. Raises SinkError if it cannot listen,
    or if other machines could access it without a token."""
    shown = sources(config) if config else [source_of(tables or ())]
    options = config.ui if config else UiConfig()
    port = options.port if port is None else port
    token = options.token.reveal() if options.token else ""
    stopping = threading.Event()
    server = HttpServer(SearchPage(shown, token).routes(), LIMITS, names=(socket.gethostname(),))
    try:
        if not token and not _is_loopback(options.host):
            raise SinkError(
                f"ui.host: {options.host} is reachable from other machines: set ui.token, or ui.host: localhost"
            )
        server.listen_on(options.host, port)
        with stop_signals(stopping):
            server.start()
            _announce(shown[0], options.host, server.ports[0], needs_token=bool(token))
            while not stopping.wait(_LOOK):  # Python runs handlers of signals to other threads only between waits
                pass
    except OSError as error:
        raise SinkError(
            f"cannot listen on {options.host}:{port}: {error.strerror or error}; set ui.host and ui.port to a free "
            "address of this machine"
        ) from error
    finally:
        server.close()
    return 0


def _announce(source: Source, host: str, port: int, *, needs_token: bool) -> None:
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    asks = "; it asks for ui.token" if needs_token else ""
    logger.info("serving the search page of %s at %s%s; Ctrl+C stops only this page", source.title, address, asks)


def _is_loopback(host: str) -> bool:
    addresses = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(host, None)}
    return all(ip_address(address).is_loopback for address in addresses)


def _described(source: Source) -> dict[str, Any] | None:
    """Return the page's description of a table; None for a dead-letter table or view that does not exist yet."""
    named = {"id": source.name, "title": source.title, "kind": source.kind}
    try:
        snapshot = source.snapshot(Query())
    except SinkError as error:
        if isinstance(error, NoTable) and source.kind != "lines":
            return None
        return {**named, "error": str(error), "columns": [], "fields": []}
    stored = snapshot.tables[0].stored
    bounds = [bound for file in snapshot.files for bound in (file.oldest, file.newest) if bound is not None]
    columns = [column for column in snapshot.schema if column.name not in _UNLIKE]
    fields = [column.name for column in columns if pa.types.is_string(column.type) or pa.types.is_boolean(column.type)]
    return {
        **named,
        "rows": snapshot.rows,
        "oldest": min(bounds) / 1e6 if bounds else None,
        "newest": max(bounds) / 1e6 if bounds else None,
        "columns": [
            {"name": column.name, "type": str(column.type)}
            for column in snapshot.schema
            if stored.get(column.name, column.name)
        ],
        "fields": [*fields, *(_MEMBERS if "doc" in snapshot.schema.names else ())],
    }


def _json(document: Mapping[str, Any]) -> Response:
    return Response(200, "application/json", json.dumps(document).encode() + b"\n")
