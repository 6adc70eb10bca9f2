"""decode_xml: documents of logs, and hostile ones."""

import tracemalloc

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import DEEPEST
from log_shipper.shipper.processors.decode_xml import BYTES_OF_A_NODE, MAX_NODES, TIMES_THE_BYTES, parse_xml
from tests.processing import processed

BOOK = """<?xml version="1.0" encoding="UTF-16"?>
<catalog>
  <book seq="1">
    <Author>William H. Gaddis</Author>
    <title>The Recognitions &amp; more</title>
  </book>
</catalog>
"""


def decoded(text: str, options: str = "") -> Doc:
    (record,) = processed(f"- decode_xml: {{{options}}}", {"message": text, "tags": ["own"]})
    assert record.pop("tags") == ["own"]
    return record


def root(xml: str) -> object:
    return parse_xml(xml, to_lower=True)["a"]


def test_a_document_replaces_its_text() -> None:
    book = {"seq": "1", "author": "William H. Gaddis", "title": "The Recognitions & more"}
    assert decoded(BOOK) == {"message": {"catalog": {"book": book}}}


def test_names_may_keep_their_case() -> None:
    assert decoded("<A Bc='1'/>", "to_lower: false, target_field: xml")["xml"] == {"A": {"Bc": "1"}}


@pytest.mark.parametrize(
    ("xml", "value"),
    [
        ("<a/>", ""),
        ("<a> x </a>", "x"),
        ("<a b='1'>x</a>", {"b": "1", "#text": "x"}),
        ("<a><b>1</b><b/><b c='2'/></a>", {"b": ["1", "", {"c": "2"}]}),
        ("<a b='1'><B>2</B></a>", {"b": ["1", "2"]}),
        ("<a>one<b/>two</a>", {"b": "", "#text": "one two"}),
        ("<a>1<![CDATA[<2>]]>3<!-- 4 -->5</a>", "1<2>35"),
        ("<x:a xmlns:x='urn:y' x:b='1'/>", {"x": "urn:y", "b": "1"}),
        ("<!DOCTYPE a SYSTEM 'a.dtd'><a/>", ""),
        ("\ufeff\n <?xml version='1.0'?><a/>\0\n", ""),
        ("<a>\ud83d</a>", "?"),
    ],
)
def test_elements_attributes_and_texts(xml: str, value: object) -> None:
    assert root(xml) == value


def test_a_document_may_become_the_event_itself() -> None:
    made = decoded("<fields><a>1</a></fields>", "target_field: ''")
    assert made["fields"] == {"a": "1"}
    kept = decoded("<message>new</message>", "target_field: '', overwrite_keys: false")
    assert kept == {"message": "<message>new</message>"}


def test_a_member_may_be_the_id() -> None:
    made = decoded("<a id='7' b='1'/>", "target_field: xml, document_id: a.id")
    assert made["xml"] == {"a": {"b": "1"}}
    assert made["@metadata"] == {"_id": "7"}


WRONG = [
    ("plain", "syntax error: line 1, column 0"),
    ("<a><b></a>", "mismatched tag: line 1, column 8"),
    ("<a/><b/>", "junk after document element: line 1, column 4"),
    ("<a>&copy;</a>", "undefined entity: line 1, column 3"),
]


@pytest.mark.parametrize(("text", "reason"), WRONG)
def test_what_is_not_xml_stays_as_it_is(text: str, reason: str) -> None:
    error = {"message": f"field message cannot be decoded as XML: {reason}", "type": "decode_xml"}
    assert decoded(text) == {"message": text, "error": error}
    assert decoded(text, "ignore_failure: true") == {"message": text}


def test_a_missing_field_is_an_error_unless_it_is_ignored() -> None:
    assert decoded("x", "field: xml")["error"]["message"] == "field xml is missing"
    assert "error" not in decoded("x", "field: xml, ignore_missing: true")


LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))
HOSTILE = {
    "a billion laughs": f"<!DOCTYPE a [<!ENTITY l0 'lol'>{LAUGHS}]><a>&l9;</a>",
    "a file": "<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>&f;</a>",
    "an attribute for each element": f"<!DOCTYPE a [<!ATTLIST b c CDATA '{'x' * 1000}'>]><a>{'<b/>' * 1000}</a>",
    "a parameter": "<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://192.0.2.1/'> %p;]><a/>",
    "an entity from outside": "<!DOCTYPE a SYSTEM 'http://192.0.2.1/a.dtd'><a>&f;</a>",
    "depth": "<a>" * (DEEPEST + 1) + "</a>" * (DEEPEST + 1),
    "nodes": f"<a>{'<b/>' * MAX_NODES}</a>",
    "attributes": "<a>" + "<b c='' d=''/>" * (MAX_NODES // 3 + 1) + "</a>",
}


@pytest.mark.parametrize("xml", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_document_is_refused(xml: str) -> None:
    with pytest.raises(ValueError, match=r"declares|unknown|deeper|more than"):
        parse_xml(xml, to_lower=True)


GREEDY = {
    "nested": f"<a>{('<b>' * 150 + '</b>' * 150) * 100}</a>",
    "attributes": "<a>" + "<b c=''/>" * 10_000 + "</a>",
    "names": f"<a>{''.join(f'<b{number}/>' for number in range(10_000))}</a>",
}


@pytest.mark.parametrize("xml", GREEDY.values(), ids=GREEDY)
def test_a_document_takes_no_more_memory_than_is_reserved_for_it(xml: str) -> None:
    tracemalloc.start()
    try:
        fields = parse_xml(xml, to_lower=True)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert fields
    assert 5 * len(xml) < taken < TIMES_THE_BYTES * len(xml)
    assert taken < xml.count("<") * BYTES_OF_A_NODE
