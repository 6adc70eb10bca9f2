"""The page of a running program: its files, and which requests get it.

What it shows is the document at /status, which it asks for itself. So the page is the same for the shipper and the
sink, and nothing is filled in here.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from log_shipper.runtime.monitor.server import Handler, Request, Response

FOLDER = Path(__file__).parent
PAGE = "index.html"
# What the page loads. A style or script within it would need an exception from the Content-Security-Policy.
FILES = {
    "page.css": "text/css; charset=utf-8",
    "page.svg": "image/svg+xml",
    "page.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
    "table.js": "text/javascript; charset=utf-8",
    "units.js": "text/javascript; charset=utf-8",
    "elements.js": "text/javascript; charset=utf-8",
}
_OF_BROWSERS = {"text/html", "application/xhtml+xml"}


def page_routes() -> Mapping[str, Handler]:
    """Return the handlers of what the page loads, by path. The page itself is answered by `page`."""
    return {f"/{name}": partial(_file, name, kind) for name, kind in FILES.items()}


def wants_page(request: Request) -> bool:
    """True if a browser asks for something to show. Probes and curl accept anything, and name no HTML."""
    accepted = (part.partition(";")[0].strip().lower() for part in request.accept.split(","))
    return not _OF_BROWSERS.isdisjoint(accepted)


def page() -> Response:
    """Return the page, for `/`."""
    return Response(200, "text/html; charset=utf-8", _content(PAGE))


def _file(name: str, kind: str, request: Request) -> Response:
    return Response(200, kind, _content(name))


@cache
def _content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
