"""The orders of the demo's shop, landed by the sink's own batches, and the page that searches them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from demo.shop import FIRST, messages
from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.monitor.server import HttpServer
from log_shipper.spark_sink.options.parts import UiConfig
from log_shipper.spark_sink.search.ui.server import LIMITS, SearchPage
from log_shipper.spark_sink.search.ui.sources import sources
from tests.unit.spark_sink.landing.landing_lab import LandingLab

HOSTS = {"C": ("checkout-1", "/srv/shop/checkout.log"), "P": ("payments-2", "/srv/shop/payments.log")}


def land_orders(directory: Path, start: datetime, orders: int = 60) -> LandingLab:
    """Land what the two programs log of so many orders, one each second, in three batches; and one bad record."""
    lab = LandingLab(directory, ui=UiConfig(token=Secret("0123456789abcdef")))
    offsets = dict.fromkeys(HOSTS, 0)
    for number in range(orders):
        for part, (program, message) in enumerate(messages(FIRST + number)):
            host, path = HOSTS[program]
            length = len(message) + 25
            lab.now = start.timestamp() + number + part / 10
            lab.send(record(lab.now, host, path, offsets[program], length, message), partition=part % 3)
            offsets[program] += length
        if number == orders // 2:
            lab.send(b"not JSON <script>alert(1)</script>")
        if number % (orders // 3) == orders // 3 - 1:
            if not hasattr(lab, "writer"):
                lab.start()
            lab.land()
    return lab


def record(now: float, host: str, path: str, offset: int, length: int, message: str) -> bytes:
    time = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    log = {"offset": offset, "length": length, "level": message.split()[0]}
    if "\n" in message:
        log["flags"] = ["multiline"]
    document = {
        "@timestamp": time,
        "message": f"{time} {message}",
        "log": {**log, "file": {"path": path, "id": f"9f3c-{host}"}},
        "fields": {"service": host.split("-")[0]},
        "host": {"name": host},
        "agent": {"type": "shipper", "version": "0.3.0", "name": host},
        "input": {"type": "filestream"},
    }
    return json.dumps(document).encode()


@contextmanager
def search_page(lab: LandingLab, token: str = "") -> Iterator[str]:
    """Serve the page of a lab's tables, and yield its address."""
    server = HttpServer(SearchPage(sources(replace(lab.config)), token).routes(), LIMITS)
    server.listen_on("127.0.0.1", 0)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.ports[0]}/"
    finally:
        server.close()
