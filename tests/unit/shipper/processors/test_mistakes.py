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
    dissect: {tokenizer: text} -> tokenizer -> has no key
    dissect: {tokenizer: '%{}'} -> tokenizer -> extracts nothing
    dissect: {tokenizer: '%{a|number}'} -> tokenizer -> the type after | must be one of: integer
    dissect: {tokenizer: '%{a|}'} -> tokenizer -> the type after | must be one of
    dissect: {tokenizer: '%{+&a}'} -> tokenizer -> cannot be combined
    dissect: {tokenizer: '%{&+a}'} -> tokenizer -> cannot be combined
    dissect: {tokenizer: '%{+}'} -> tokenizer -> needs a name
    dissect: {tokenizer: '%{a..b}'} -> tokenizer -> has an empty part
    dissect: {tokenizer: '%{&a}'} -> tokenizer -> refers to a missing key
    dissect: {tokenizer: '%{a} %{a.b}'} -> tokenizer -> 'a' cannot be a value and contain 'a.b' as well
    grok: {patterns: ['%{N}'], pattern_definitions: {N: 7}} -> pattern_definitions.N -> must be text; put it in quotes
    redact: {patterns: [credit_cart]} -> patterns[0] -> must be one of: credit_card
    redact: {patterns: []} -> patterns -> nothing is masked
    redact: {fields: []} -> fields -> must not be empty
    redact: {custom: {x: '('}} -> custom.x -> is not a regular expression
    redact: {custom: {x: 7}} -> custom.x -> must be text
    redact: {custom: {x: ''}} -> custom.x -> is empty
    redact: {custom: {email: x}} -> custom.email -> is a built-in pattern
    redact: {mask: xx} -> mask -> must be one character
    redact: {keep_last: 4} -> keep_last -> needs mask
    redact: {keep_last: -1} -> keep_last -> must be at least 0
    timestamp: {field: t} -> layouts -> missing
    timestamp: {field: t, layouts: []} -> layouts -> must not be empty
    timestamp: {layouts: ['2006']} -> field -> missing
    timestamp: {field: t, layouts: [UNIX], timezone: '-400'} -> timezone -> '-400' is not a time zone
    syslog: {timezone: '-400'} -> timezone -> '-400' is not a time zone
    syslog: {format: bsd} -> format -> 'bsd' must be one of: auto, rfc3164, rfc5424
"""


@pytest.mark.parametrize(("item", "where", "words"), rows(MISTAKES))
def test_a_mistake_is_reported_where_it_was_made(item: str, where: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        section(f"- {item}")
    (line,) = str(caught.value).splitlines()
    assert f"processors[0].{item.partition(':')[0]}.{where}: " in line
    assert words in line
