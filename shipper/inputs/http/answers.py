"""Write responses of HTTP/1.1, with bodies as Filebeat's: {"message": "..."}."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def message(text: str) -> bytes:
    return json.dumps({"message": text}, ensure_ascii=False).encode()


def answer(status: int, body: bytes, headers: Mapping[str, str], *, closes: bool, without_body: bool = False) -> bytes:
    """Return a response; `closes`: the connection ends after it."""
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", f"Date: {datetime.now(UTC):%a, %d %b %Y %H:%M:%S} GMT"]
    if status == HTTPStatus.NO_CONTENT:
        body = b""
    else:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if closes:
        lines.append("Connection: close")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
    return head if without_body else head + body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "OK"
