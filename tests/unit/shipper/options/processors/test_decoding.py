"""Options of the processors that decode and derive values: defaults, and what is a mistake."""

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.options.processors.decoding import (
    CommunityIdConfig,
    DecodeBase64FieldConfig,
    DecodeCsvFieldsConfig,
    DecodeJsonFieldsConfig,
    DecompressGzipFieldConfig,
    FingerprintConfig,
    FlowFieldsConfig,
    OneFieldConfig,
)
from tests.processing import section


@pytest.mark.parametrize(
    ("text", "config"),
    [
        (
            "- decode_base64_field: {field: {from: a}}",
            DecodeBase64FieldConfig(source=OneFieldConfig(source="a", to=""), ignore_missing=False, fail_on_error=True),
        ),
        (
            "- decompress_gzip_field: {field.from: a, field.to: b, max_bytes: 1KiB}",
            DecompressGzipFieldConfig(source=OneFieldConfig(source="a", to="b"), max_bytes=1024),
        ),
        (
            "- decode_csv_fields: {fields: {message: csv, a.b: c}}",
            DecodeCsvFieldsConfig(fields={"message": "csv", "a.b": "c"}, separator=",", fail_on_error=True),
        ),
        (
            "- decode_json_fields: {fields: a}",
            DecodeJsonFieldsConfig(fields=("a",), process_array=False, max_depth=1, target=None, add_error_key=False),
        ),
        ('- decode_json_fields: {fields: a, target: ""}', DecodeJsonFieldsConfig(fields=("a",), target="")),
        ("- decode_json_fields: {fields: a, target: }", DecodeJsonFieldsConfig(fields=("a",), target=None)),
        (
            "- fingerprint: {fields: [a]}",
            FingerprintConfig(fields=("a",), target_field="fingerprint", method="sha256", encoding="hex"),
        ),
        ("- community_id:", CommunityIdConfig(fields=FlowFieldsConfig(), target="network.community_id", seed=0)),
    ],
)
def test_options_have_the_defaults_of_filebeat(text: str, config: ProcessorConfig) -> None:
    assert section(text).processors == (config,)


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("decode_base64_field: {}", "field", "missing"),
        ("decode_base64_field: {field: {to: a}}", "field.from", "missing"),
        ("decompress_gzip_field: {field: {from: a}, max_bytes: 0}", "max_bytes", "must be at least 1"),
        ("decode_csv_fields: {fields: {}}", "fields", "must not be empty"),
        ("decode_csv_fields: {fields: {a: 7}}", "fields.a", "must be the name of a field"),
        ("decode_csv_fields: {fields: {a: b}, separator: ';;'}", "separator", "must be one character"),
        ("decode_csv_fields: {fields: {a: b}, separator: '\"'}", "separator", "cannot be a quote"),
        ("decode_duration: {field: a, format: days}", "format", "must be one of: milliseconds"),
        ("decode_json_fields: {fields: []}", "fields", "must not be empty"),
        ("decode_json_fields: {fields: [a], max_depth: 0}", "max_depth", "must be at least 1"),
        ("fingerprint: {fields: [a], method: crc32}", "method", "must be one of: sha256"),
        ("fingerprint: {fields: ['']}", "fields[0]", "is empty"),
        ("community_id: {seed: 65536}", "seed", "must be at most 65535"),
        ("registered_domain: {field: a}", "target_field", "missing"),
        ("detect_mime_type: {field: a, target: a}", "target", "would overwrite"),
    ],
)
def test_mistakes_are_reported_where_they_were_made(text: str, where: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        section(f"- {text}")
    name = text.partition(":")[0]
    assert f"processors[0].{name}.{where}: " in str(caught.value)
    assert words in str(caught.value)
