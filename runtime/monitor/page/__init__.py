"""The page of a running program: its files, and the requests that get it.

It loads the document at /status itself. So the page is the same for the shipper and the sink, and nothing is filled in
here.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from log_shipper.runtime.monitor.server import Handler, Request, Response

FOLDER = Path(__file__).parent
PAGE = "index.html"
# Files that the page loads. Inline styles or scripts would need an exception from the Content-Security-Policy.
FILES = ("page.css", "page.svg", "page.js", "chart.js", "table.js", "units.js", "elements.js")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_OF_BROWSERS = {"text/html", "application/xhtml+xml"}


def page_routes() -> Mapping[str, Handler]:
    """Return the handlers of files that the page loads, by path. `page` serves the page itself."""
    return {f"/{name}": partial(_answer, FOLDER / name) for name in FILES}


def files_of(folder: Path) -> Mapping[str, Handler]:
    """Return the handlers of another page's files, by path; the page itself is `/`. Files shared with this page are in
    `page_routes`.
    """
    names = {path.name: path for path in folder.iterdir() if path.suffix in _TYPES}
    return {"/" if name == PAGE else f"/{name}": partial(_answer, path) for name, path in names.items()}


def wants_page(request: Request) -> bool:
    """Return True if a browser requests a page. Probes and curl accept anything, and name no HTML."""
    accepted = (part.partition(";")[0].strip().lower() for part in request.accept.split(","))
    return not _OF_BROWSERS.isdisjoint(accepted)


def page() -> Response:
    """Return the page, for `/`."""
    return Response(200, _TYPES[".html"], _content(FOLDER / PAGE))


def _answer(path: Path, request: Request) -> Response:
    return Response(200, _TYPES[path.suffix], _content(path))


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()
