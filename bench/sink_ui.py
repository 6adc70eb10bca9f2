"""Sends a request of the search page for a table of `bench.sink_search`, and prints the lines of the response.

python -m bench.sink_ui PATH REQUEST    such as '/rows?q=timeout'
"""

import sys
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from log_shipper.runtime.monitor.exchange import Request
from log_shipper.spark_sink.search.ui.server import SearchPage
from log_shipper.spark_sink.search.ui.sources import source_of


def main(path: str, question: str) -> None:
    parts = urlsplit(question)
    request = Request(parts.path, dict(parse_qsl(parts.query)), "")
    body = SearchPage([source_of([path])]).routes()[parts.path](request).body
    assert isinstance(body, Iterator)
    for piece in body:
        for line in piece.decode().splitlines():
            if not line.startswith(('{"start"', '{"counts":{"total":0,')):  # nothing to draw
                print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
