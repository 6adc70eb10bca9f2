import json
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from log_shipper.runtime.monitor.exchange import Request, Response
from log_shipper.spark_sink.search.ui.server import SearchPage
from log_shipper.spark_sink.search.ui.sources import source_of
from tests.unit.spark_sink.search.search_lab import Table


class Reader:
    """Asks a page as a browser does, without a network."""

    def __init__(self, page: SearchPage, headers: Mapping[str, str] | None = None) -> None:
        self.routes = page.routes()
        self._headers = headers or {}

    def ask(self, route: str, /, **parameters: object) -> Response:
        query = {name: str(value) for name, value in parameters.items()}
        return self.routes[route](Request(route, query, "", self._headers))

    def stream(self, route: str, /, **parameters: object) -> Generator[dict[str, Any], None, None]:
        body = self.ask(route, **parameters).body
        assert isinstance(body, Generator)
        rest = b""
        with closing(body):  # as the server does when the client leaves
            for piece in body:
                *lines, rest = (rest + piece).split(b"\n")
                yield from map(json.loads, lines)

    def answer(self, route: str, /, **parameters: object) -> dict[str, Any]:
        """Return the last object of each kind."""
        return {kind: value for line in self.stream(route, **parameters) for kind, value in line.items()}

    def messages(self, **parameters: object) -> list[str]:
        return [line["row"]["message"] for line in self.stream("/rows", **parameters) if "row" in line]


@pytest.fixture
def reader(table: Table) -> Reader:
    return Reader(SearchPage([source_of([str(table.path)])]))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "logs")
