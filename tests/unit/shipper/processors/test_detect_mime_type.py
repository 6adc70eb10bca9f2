"""detect_mime_type: what a field holds, as Filebeat names it."""

import base64
import time

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processors.detect_mime_type import mime_type
from tests.processing import processed

UTF8 = "; charset=utf-8"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("Hello world!", f"text/plain{UTF8}"),
        ("äöü", f"text/plain{UTF8}"),
        ("{}", "application/json"),
        ("[1, 2", f"text/plain{UTF8}"),
        ("<test></test>", "text/xml"),
        ("<test></test> and more", "text/xml"),
        ("<test>", f"text/plain{UTF8}"),
        ("<!DOCTYPE t [<!ENTITY a 'x'>]><t>&a;</t>", f"text/plain{UTF8}"),
        ("<?xml version='1.0'?><a/>", f"text/xml{UTF8}"),
        ("<html>Test</html>", f"text/html{UTF8}"),
        ("  <!DOCTYPE HTML><p>", f"text/html{UTF8}"),
        (bytes.fromhex("4d5a90000300000004000000ffff"), "application/vnd.microsoft.portable-executable"),
        (bytes.fromhex("7f454c4601010100") + bytes(48), "application/x-executable"),
        (bytes.fromhex("cffaedfe0700000103000000"), "application/x-mach-binary"),
        (bytes.fromhex("4c0000000114020000"), "application/x-ms-shortcut"),
        (bytes.fromhex("89504e470d0a1a0a0000000d49484452"), "image/png"),
        (bytes.fromhex("1f8b0800"), "application/gzip"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\xff\xfea\0", "text/plain; charset=utf-16le"),
        (b"\x00\x01\x02", None),
        ("a\x00b", None),
    ],
)
def test_knows_what_it_is(data: str | bytes, kind: str | None) -> None:
    assert mime_type(data if isinstance(data, bytes) else data.encode()) == kind


def test_the_type_goes_to_the_target() -> None:
    chain = "- detect_mime_type: {field: message, target: http.type}"
    assert processed(chain, {"message": "x y"}) == [{"message": "x y", "http": {"type": f"text/plain{UTF8}"}}]


def test_what_was_decoded_to_bytes_is_known_too() -> None:
    png = base64.b64encode(bytes.fromhex("89504e470d0a1a0a0000000d49484452")).decode()
    chain = "- decode_base64_field: {field: {from: a}}\n- detect_mime_type: {field: a, target: t}"
    assert processed(chain, {"message": "x", "a": png})[0]["t"] == "image/png"


@pytest.mark.parametrize("doc", [{}, {"a": ""}, {"a": 7}, {"a": "\x01"}])
def test_what_is_not_known_has_no_type_and_no_mark(doc: Doc) -> None:
    (record,) = processed("- detect_mime_type: {field: a, target: t}", {"message": "x", **doc})
    assert record == {"message": "x", **doc}


LOL = "<!DOCTYPE l [<!ENTITY a0 'x'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12))


@pytest.mark.parametrize(
    "text", ["<x>" * 1_000_000, "<x " * 1_000_000, "[" * 3_000_000, f"{LOL}]><l>&a11;</l>", "<" * 3_000_000]
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    begun = time.process_time()
    assert mime_type(text.encode()) in (f"text/plain{UTF8}", None)
    assert time.process_time() - begun < 3
