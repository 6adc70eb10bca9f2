"""Make the pictures in docs/images/ from the documents that the tests show.

python -m tests.browser.pictures docs/images

With 256 colours, by any program for pictures, they have a third of the size.
"""

import json
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from log_shipper.runtime.monitor.server import Request
from tests.browser.conftest import Site
from tests.browser.devtools import Json, Tab, chromium
from tests.browser.documents import shipper_incident
from tests.browser.landing import LandingSink
from tests.browser.shop import land_orders, search_page

WIDTH, PHONE = 1100, (390, 844)


def landing_sink() -> Json:
    sink = LandingSink()
    sink.run()
    body = sink.monitored.status(Request("/status", {}, "")).body
    assert isinstance(body, bytes)
    document: Json = json.loads(body)
    return document


def show(tab: Tab, site: Site, document: Json) -> None:
    site.document = document
    tab.open(site.url)
    tab.await_true("document.querySelector('#charts .line')")


def search(tab: Tab, directory: Path) -> None:
    """Show why an order failed."""
    with tempfile.TemporaryDirectory() as folder:
        lab = land_orders(Path(folder), datetime.now(UTC) - timedelta(minutes=9), orders=500)
        with search_page(lab) as url:
            tab.resize(WIDTH, 900)
            tab.open(f"{url}?q=A-1007&by=host&since=15m")
            tab.await_true("document.querySelectorAll('.entry').length === 5")
            tab.evaluate("document.querySelector('.entry button').click()")
            tab.await_true("document.querySelector('.panel pre')")
            tab.evaluate("document.querySelector('#program').textContent = '/data/logs · spark-sink'")
            tab.evaluate("document.querySelector('.facet summary').click()")
            tab.await_true("document.querySelector('.facet li')")
            tab.picture(directory / "page-search.png", whole=False)


def main(directory: Path) -> None:
    site = Site()
    site.start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, chromium(Path(folder) / "profile") as tab:
        tab.prefer(color_scheme="light")
        for name, document in (("shipper", shipper_incident()), ("sink", landing_sink())):
            tab.resize(WIDTH, 900)
            show(tab, site, document)
            tab.picture(directory / f"page-{name}.png")
        search(tab, directory)
        tab.resize(*PHONE, is_phone=True)
        show(tab, site, shipper_incident())
        tab.picture(directory / "page-phone.png", whole=False)
    site.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
