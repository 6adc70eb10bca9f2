"""The server of the search's page as far as the page can see: a few thousand lines, and what a test makes of them."""

import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from log_shipper.runtime.monitor.page import files_of, page_routes
from log_shipper.runtime.monitor.server import Handler, HttpServer, Request, Response
from log_shipper.spark_sink.search.ui.server import FOLDER

Json = dict[str, Any]
Query = dict[str, str]
HOSTILE = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\x1b]0;owned\x07\x1b[2J \u202etxt.exe\n'
    "=cmd|' /C calc'!A0\t=HYPERLINK(\"http://x\")"
)
COLUMNS = "ts timestamp,message string,host string,path string,file_id string,offset bigint,doc string,tags array"


def line(number: int, seconds: float, message: str, level: str, **others: Any) -> Json:
    """Return the line at a number in its file, in which each has 100 bytes."""
    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    doc = {
        "log": {"level": level},
        "kubernetes": {"pod": {"name": f"checkout-{number % 5}"}},
        "trace_id": f"{number:08x}",
    }
    place = {
        "host": f"web-{number % 3 + 1}",
        "path": "/var/log/app/orders.log",
        "file_id": "9f3c",
        "offset": number * 100,
    }
    return {"ts": moment, "message": message, **place, "doc": doc, "fields": {"env": "prod"}, "tags": ["app"], **others}


def lines(now: float, count: int = 2400) -> list[Json]:
    """Return lines of the last 15 minutes, the newest first; the second newest is hostile."""
    made = []
    for number in range(count):
        level = "error" if number % 37 == 5 else "warn" if number % 11 == 3 else "info"
        text = {
            "error": "payment failed: connection to db-2.prod.example:5432 refused: timeout after 5000 ms\n"
            'Traceback (most recent call last):\n  File "/srv/app/pay.py", line 231, in charge\nTimeoutError: db-2',
            "warn": f"slow request: GET /api/orders/{number * 7919 % 100_000} took {900 + number % 700} ms",
            "info": f'10.1.{number % 7}.{number % 251} - "GET /api/orders/{number * 104_729 % 1_000_000} HTTP/1.1" 200 '
            f"{number * 31 % 9000}",
        }[level]
        age = 880 * (number / count) + 3 * math.sin(number / 40)
        made.append(line(count - number, now - 5 - max(age, 0), text, level))
    made.sort(key=lambda row: row["ts"], reverse=True)
    made[1]["message"] = HOSTILE
    return made


class Lake:
    """`rows` are searched as they are; `asked` has each request; with the words `stuck` /rows does not end until it is
    aborted; `breaks`: it ends too early."""

    def __init__(self) -> None:
        self.now = time.time()
        self.rows = lines(self.now)
        self.asked: list[tuple[str, Query]] = []
        self.landed: list[Json] = []
        self.token = ""
        self.stuck = ""  # words
        self.breaks = False
        self.aborted = threading.Event()
        self.context_error = ""
        self.is_exact = True  # the counts: otherwise there are very many values
        self.problem: tuple[int, str] | None = None
        self.newest: float | None = self.now - 5
        routes = {"tables": self._tables, "rows": self._rows, "counts": self._counts, "follow": self._follow}
        routes |= {"context": self._context, "download": self._download}
        data = {f"/{name}": self._guarded(name, act) for name, act in routes.items()}
        self._routes = {**page_routes(), **files_of(FOLDER), **data}
        self._port = 0
        self.open()
        self.url = f"http://127.0.0.1:{self._port}/"

    def open(self) -> None:
        """Serve, at the same address as before."""
        self._server = HttpServer(self._routes)
        self._server.listen_on("127.0.0.1", self._port)
        self._port = self._server.ports[0]
        self._server.start()

    def close(self) -> None:
        self._server.close()

    def queries(self, path: str) -> list[Query]:
        return [query for asked, query in self.asked if asked == path]

    def _guarded(self, name: str, act: Callable[[Query], Response]) -> Handler:
        def answer(request: Request) -> Response:
            self.asked.append((name, dict(request.query)))
            if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
                return Response(401, "text/plain", b"the token is missing or wrong\n")
            if self.problem and name != "tables":
                return Response(self.problem[0], "text/plain", self.problem[1].encode())
            return act(dict(request.query))

        return answer

    def _tables(self, query: Query) -> Response:
        def table(name: str, title: str, kind: str, columns: str, fields: list[str]) -> Json:
            typed = [dict(zip(("name", "type"), column.split(), strict=True)) for column in columns.split(",")]
            times = {"oldest": None, "newest": self.newest if kind == "lines" else None}
            rows = 7 if kind == "dead_letters" else None
            return {"id": name, "title": title, "kind": kind, "rows": rows, "columns": typed, "fields": fields, **times}

        known = [
            table("lines", "/srv/lake/lines", "lines", COLUMNS, ["host", "path", "log.level"]),
            table(
                "dead_letters",
                "/srv/lake/" + "logs" * 20,
                "dead_letters",
                "ts timestamp,reason string,topic string",
                ["reason"],
            ),
            table("errors", "errors_by_minute", "view", "minute string,host string,errors bigint", ["host"]),
        ]
        return self._json({"version": "0.3.0", "max_rows": 1600, "max_download": 1000, "tables": known})

    def matching(self, query: Query) -> list[Json]:
        if query["table"] == "errors":
            return [{"minute": f"10:{minute:02}", "host": "web-1", "errors": minute * 3} for minute in range(20)]
        terms = re.findall(r'(-?)(?:([\w.]+):)?("[^"]*"|\S+)', query.get("q", ""))
        return [
            row for row in self.rows if self._in_range(row, query) and all(self._matches(row, *term) for term in terms)
        ]

    def _in_range(self, row: Json, query: Query) -> bool:
        since, until = query.get("since", ""), query.get("until", "")
        return (since[:2] != "20" or row["ts"] >= since) and (until[:2] != "20" or row["ts"] <= until)

    @staticmethod
    def _matches(row: Json, sign: str, field: str, text: str) -> bool:
        text = text.strip('"')
        value = str(value_of(row, field) or "") if field else row["message"]
        matches = value == text or (text == "*" and value != "") if field else text in value
        return bool(matches) is not bool(sign)

    def _rows(self, query: Query) -> Response:
        return self._stream(self._row_members(query))

    def _row_members(self, query: Query) -> Iterator[Json | None]:
        matching = self.matching(query)
        taken = matching[: int(query["limit"])]
        since = datetime.fromtimestamp(self.now - 7 * 86_400, UTC).isoformat()
        sql = f"message ILIKE '%{query['q']}%'" if query.get("q") else ""
        yield {"start": {"sql": sql, "files": 12, "since": since, "until": query.get("until")}}
        if self.stuck and self.stuck == query.get("q"):
            try:
                while True:
                    time.sleep(0.02)
                    yield None
            finally:
                self.aborted.set()
        yield from ({"row": row} for row in taken)
        if not self.breaks:
            yield {"end": {"rows": len(taken), "complete": taken == matching, "files": 12, "seconds": 0.213}}

    def _counts(self, query: Query) -> Response:
        return self._stream(self._count_members(query))

    def _count_members(self, query: Query) -> Iterator[Json]:
        matching, bars, top = self.matching(query), int(query.get("bars") or 0), int(query.get("top") or 4)
        times = [datetime.fromisoformat(row["ts"]).timestamp() if "ts" in row else 0.0 for row in matching]
        start = math.floor(min(times, default=0))
        span = max(1, math.ceil((max(times, default=0) - start + 1) / bars)) if bars else 1
        by = query.get("by")
        values = [value_of(row, by) if by else None for row in matching]
        counted = Counter(values).most_common()

        def series(chosen: set[Any]) -> list[int]:
            places = Counter(
                int((moment - start) // span) for moment, value in zip(times, values, strict=True) if value in chosen
            )
            return [places[bar] for bar in range(bars)]

        shown = [{"value": value, "rows": rows, "bars": series({value})} for value, rows in counted[:top]]
        rest = {value for value, _ in counted[top:]}
        others = {"values": len(rest), "rows": sum(rows for _, rows in counted[top:]), "bars": series(rest)}
        counts = {"total": len(matching), "start": start, "span": span, "bars": bars, "series": shown}
        yield {"start": {}}
        if not self.is_exact:
            others |= {"values": None, "rows": 5}
        yield {"counts": {**counts, "others": others, "exact": self.is_exact, "read": 1}}
        yield {"end": {"seconds": 0.1}}

    def _follow(self, query: Query) -> Response:
        def members() -> Iterator[Json | None]:
            yield {"start": {}}
            while True:
                yield {"row": self.landed.pop(0)} if self.landed else None
                time.sleep(0.02)

        return self._stream(members())

    def _context(self, query: Query) -> Response:
        if self.context_error:
            return self._json({"error": self.context_error})
        offset, count = int(query["offset"]), int(query["lines"])
        before = [row for row in self.rows if row["offset"] < offset][:count][::-1]
        after = [row for row in self.rows if row["offset"] > offset][-count:][::-1]
        return self._json({"before": [{**before[0], "file_id": "old"}, *before[1:]] if before else [], "after": after})

    def _download(self, query: Query) -> Response:
        return Response(
            200, "application/x-ndjson", b"".join(json.dumps(row).encode() + b"\n" for row in self.matching(query))
        )

    @staticmethod
    def _json(document: Json) -> Response:
        return Response(200, "application/json", json.dumps(document).encode())

    @staticmethod
    def _stream(members: Iterator[Json | None]) -> Response:
        texts = (b"" if member is None else json.dumps(member).encode() + b"\n" for member in members)
        return Response(200, "application/x-ndjson", texts)


def value_of(row: Json, field: str) -> Any:
    value: Any = {**row, **row.get("doc", {})}
    for name in field.split(".") if field else []:
        value = value.get(name) if isinstance(value, dict) else None
    return json.dumps(value) if isinstance(value, list) else value
