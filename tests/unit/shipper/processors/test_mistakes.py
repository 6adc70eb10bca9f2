"""What is a mistake in the options of processors, and how it is reported."""

import pytest

from log_shipper.config.yaml.errors import ConfigError
from tests.processing import section
from tests.tables import rows

MISTAKES = r"""
    decode_base64_field: {} -> field -> missing
    decode_base64_field: {field: {to: a}} -> field.from -> missing
    decompress_gzip_field: {field: {from: a}, max_bytes: 0} -> max_bytes -> must be at least 1
    decode_csv_fields: {fields: {}} -> fields -> must not be empty
    decode_csv_fields: {fields: {a: 7}} -> fields.a -> must be the name of a field
    decode_csv_fields: {fields: {a: b}, separator: ';;'} -> separator -> must be one character
    decode_csv_fields: {fields: {a: b}, separator: '"'} -> separator -> cannot be a quote
    decode_duration: {field: a, format: days} -> format -> must be one of: milliseconds
    decode_json_fields: {fields: []} -> fields -> must not be empty
    decode_json_fields: {fields: [a], max_depth: 0} -> max_depth -> must be at least 1
    fingerprint: {fields: [a], method: crc32} -> method -> must be one of: sha256
    fingerprint: {fields: ['']} -> fields[0] -> is empty
    community_id: {seed: 65536} -> seed -> must be at most 65535
    registered_domain: {field: a} -> target_field -> missing
    detect_mime_type: {field: a, target: a} -> target -> would overwrite
"""


@pytest.mark.parametrize(("item", "where", "words"), rows(MISTAKES))
def test_a_mistake_is_reported_where_it_was_made(item: str, where: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        section(f"- {item}")
    name = item.partition(":")[0]
    reported = str(caught.value)
    assert f"processors[0].{name}.{where}: " in reported
    assert words in reported
