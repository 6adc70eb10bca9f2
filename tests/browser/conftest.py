import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from log_shipper.runtime.monitor.page import page, page_routes
from log_shipper.runtime.monitor.server import HttpServer, Request, Response
from tests.browser.devtools import PROGRAM, Tab, chromium
from tests.browser.documents import shipper_incident


class Site:
    """A program that shows the page with a document of the test. It can be stopped and started again."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = shipper_incident()
        self.status = 200
        self.answered = threading.Event()
        self._port = 0
        self._server: HttpServer | None = None

    def start(self) -> None:
        self._server = HttpServer({"/": lambda _: page(), "/status": self._status, **page_routes()})
        self._server.listen_on("127.0.0.1", self._port)
        self._port = self._server.ports[0]
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def _status(self, request: Request) -> Response:
        self.answered.set()
        return Response(self.status, "application/json", json.dumps(self.document).encode())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if PROGRAM is None:
        pytest.skip("no chromium: script/browser installs it where we are root and apt is there")
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab) -> Tab:
    """The browser's page, as on a desktop, without anything of the test before."""
    browser.resize(1280, 900)
    browser.prefer(color_scheme="light", reduced_motion="no-preference")
    browser.call("Emulation.setTimezoneOverride", timezoneId="")
    browser.open("about:blank")
    browser.evaluate("0")
    browser.events.clear()
    return browser


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def shown(tab: Tab, site: Site) -> Tab:
    """The page of the site, with the first values."""
    tab.open(site.url)
    tab.await_true("document.querySelector('#figures data')")
    return tab
