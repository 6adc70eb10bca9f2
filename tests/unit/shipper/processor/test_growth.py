"""How much a chain may enlarge an event follows from its configuration."""

import pytest

from log_shipper.shipper.event import Growth
from log_shipper.shipper.processors.decode_xml import BYTES_OF_A_NODE, MAX_NODES, TIMES_THE_BYTES
from log_shipper.shipper.processors.decompress_gzip_field import DEFLATE
from tests.processing import chain_of

GZIP = "decompress_gzip_field: {field: {from: message}, max_bytes: 100}"
XML_GROWTH = Growth(TIMES_THE_BYTES, MAX_NODES * BYTES_OF_A_NODE)
DNS = "dns: {type: A, fields: {a: b}, nameservers: [127.0.0.1]}"


@pytest.mark.parametrize(
    ("processors", "growth"),
    [
        ("- add_tags: {tags: [x]}\n- decode_base64_field: {field: {from: message}}", Growth()),
        (f"- {GZIP}", Growth(DEFLATE, 100)),
        (f"- add_tags: {{tags: [x]}}\n- {GZIP}", Growth(DEFLATE, 100)),
        (f"- {GZIP}\n- {GZIP}", Growth(DEFLATE**2, 200)),
        (f"- {GZIP}\n- {DNS}", Growth(DEFLATE, 100)),
        (f"- if: {{equals: {{a: 1}}}}\n  then: [{GZIP}]\n  else: [{GZIP}]", Growth(DEFLATE**2, 200)),
        ("- decode_xml:", XML_GROWTH),
        (f"- {GZIP}\n- decode_xml:", Growth(DEFLATE, 100).then(XML_GROWTH)),
        ("- decompress_gzip_field: {field: {from: message}}", Growth(DEFLATE, 10 * 1024**2)),
    ],
)
def test_it_grows_by_what_it_decompresses_and_parses(processors: str, growth: Growth) -> None:
    assert chain_of(processors).growth == growth


def test_what_events_become_is_bounded_by_either() -> None:
    assert Growth(1000, 100).max_size(raw=10, events=2) == 210
    assert Growth(10, 1000).max_size(raw=10, events=2) == 100
    assert Growth().max_size(raw=10, events=2) == 10
