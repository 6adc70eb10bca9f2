from collections.abc import Iterator
from typing import Any

import pytest

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.schema import options
from log_shipper.shipper.options.conditions import NETWORKS
from log_shipper.shipper.options.processors import PROCESSORS
from log_shipper.shipper.processors.drop_fields import DropFieldsConfig
from log_shipper.shipper.processors.rename import RenameConfig
from log_shipper.shipper.processors.uppercase import UppercaseConfig
from tests.processing import section

AN_INDEX = "must be the index of an item: 0, 1, 2, …"
ONE_LIMIT = "needs one of 'max_bytes' and 'max_characters', not both"

DIRECTION = "add_network_direction.internal_networks[1]"
NO_NETWORK = f"'lan' is not a network; write 192.0.2.0/24, 2001:db8::/32, or one of: {', '.join(NETWORKS)}"


def kept(where: str, fields: str) -> list[Finding]:
    return [(where, f"{fields} will stay: duplicates of an event are recognised by it")]


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("add_fields:", "add_fields.fields", "missing"),
        ("add_fields: {fields: {}, field: {a: 1}}", "add_fields.field", "unknown option; did you mean 'fields'?"),
        ("add_labels: {}", "add_labels.labels", "missing"),
        ("add_tags: {tags: []}", "add_tags.tags", "must not be empty"),
        ("add_tags: {tags: [a, ' ']}", "add_tags.tags[1]", "is empty"),
        ("add_tags: {tags: a, target: ''}", "add_tags.target", "is empty"),
        ("add_id: {type: uuid}", "add_id.type", "'uuid' must be one of: elasticsearch"),
        ("add_locale: {format: long}", "add_locale.format", "'long' must be one of: offset, abbreviation"),
        ("now: {}", "now.field", "missing"),
        ("add_network_direction: {}", "add_network_direction.internal_networks", "missing"),
        ("add_network_direction: {internal_networks: [private, lan]}", DIRECTION, NO_NETWORK),
        ("lowercase: {}", "lowercase", "needs 'fields' (names to change) or 'values' (fields whose texts are changed)"),
        ("lowercase: {fields: ['']}", "lowercase.fields[0]", "is empty"),
        (
            "uppercase: {fields: '@timestamp'}",
            "uppercase.fields[0]",
            "@timestamp keeps its name; for its value, use 'values'",
        ),
        ("append: {target_field: a}", "append", "needs 'fields' or 'values' to append"),
        ("copy_fields: {fields: []}", "copy_fields.fields", "must not be empty"),
        ("copy_fields: {fields: [{from: a}]}", "copy_fields.fields[0].to", "missing"),
        ("rename: {fields: [{from: '', to: b}]}", "rename.fields[0].from", "is empty"),
        ("move_fields: {from: a}", "move_fields.to", "missing"),
        ("drop_event: {message: x}", "drop_event.message", "unknown option; known here: when"),
        ("drop_fields: {}", "drop_fields.fields", "missing"),
        ("drop_fields: {fields: [a, '']}", "drop_fields.fields[1]", "is empty"),
        ("include_fields: {}", "include_fields.fields", "missing"),
        ("rate_limit: {limit: 10}", "rate_limit.limit", "'10' is not a rate; write 10/s, 600/m or 5000/h"),
        ("rate_limit: {limit: 10/d}", "rate_limit.limit", "'10/d' is not a rate; write 10/s, 600/m or 5000/h"),
        ("rate_limit: {limit: -1/s}", "rate_limit.limit", "'-1/s' is not a rate; write 10/s, 600/m or 5000/h"),
        ("rate_limit: {limit: nan/s}", "rate_limit.limit", "'nan/s' is not a rate; write 10/s, 600/m or 5000/h"),
        ("convert: {fields: []}", "convert.fields", "must not be empty"),
        ("convert: {fields: [{from: a}]}", "convert.fields[0]", "needs 'to' or 'type'"),
        (
            "convert: {fields: [{from: a, type: int}]}",
            "convert.fields[0].type",
            "'int' must be one of: integer, long, float, double, string, boolean, ip",
        ),
        ("extract_array: {field: a, mappings: {}}", "extract_array.mappings", "must not be empty"),
        ("extract_array: {field: a, mappings: {b.c: -1}}", "extract_array.mappings.b.c", f"-1 {AN_INDEX}"),
        ("extract_array: {field: a, mappings: {b: x}}", "extract_array.mappings.b", f"'x' {AN_INDEX}"),
        ("replace: {fields: [{field: a, pattern: b}]}", "replace.fields[0].replacement", "missing"),
        ("truncate_fields: {fields: [a]}", "truncate_fields", ONE_LIMIT),
        ("truncate_fields: {fields: [a], max_bytes: 1, max_characters: 1}", "truncate_fields", ONE_LIMIT),
        ("truncate_fields: {fields: [a], max_characters: -1}", "truncate_fields.max_characters", "must be at least 0"),
        ("urldecode: {fields: [{to: a}]}", "urldecode.fields[0].from", "missing"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text: str, where: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        section(f"- {text}")
    assert str(caught.value).partition(": processors[0].")[2] == f"{where}: {message}"


@pytest.mark.parametrize(
    "text",
    ["drop_fields: {fields: ['/(x/']}", "replace: {fields: [{field: a, pattern: '(x', replacement: ''}]}"],
)
def test_a_pattern_that_does_not_compile_is_reported(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a regular expression"):
        section(f"- {text}")


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("drop_fields: {fields: [log.offset, agent]}", kept("fields[0]", "log.offset")),
        ("drop_fields: {fields: [agent, log]}", kept("fields[1]", "log.offset, log.length, log.file.id")),
        ("drop_fields: {fields: [log.file]}", kept("fields[0]", "log.file.id")),
        ("drop_fields: {fields: [log.file.path, logs, log.offsets]}", []),
        ("rename: {fields: [{from: a, to: b}, {from: log.length, to: c}]}", kept("fields[1]", "log.length")),
        ("uppercase: {fields: [Log.Offset]}", kept("fields[0]", "log.offset")),
    ],
)
def test_what_cannot_be_removed_is_noted(text: str, remarks: list[Finding]) -> None:
    (config,) = section(f"- {text}").processors
    assert isinstance(config, DropFieldsConfig | RenameConfig | UppercaseConfig)
    assert list(config.remarks()) == remarks


def test_defaults_are_those_of_filebeat() -> None:
    configs: tuple[Any, ...] = section(
        """
        - rename: {fields: [{from: a, to: b}]}
        - append: {target_field: a, values: [1]}
        - add_id:
        - truncate_fields: {fields: a, max_bytes: 1}
        - extract_array: {field: a, mappings.b: 0}
        - rate_limit: {limit: 1/s}
        - add_fields: {fields.a: 1}
        - convert: {fields: [{from: a, type: ip}]}
        """
    ).processors
    rename, append, add_id, cut, extract, rate, add, convert = configs
    for each in (rename, append, cut, extract, convert):
        assert (each.ignore_missing, each.fail_on_error) == (False, True)
    assert (append.allow_duplicate, append.ignore_empty_values) == (True, False)
    assert (extract.overwrite_keys, extract.omit_empty, convert.mode) == (False, False, "copy")
    assert (add_id.target_field, add.target) == ("@metadata._id", "fields")
    assert (rate.algorithm.token_bucket.burst_multiplier, rate.limit) == (1.0, "1/s")


def test_every_option_says_what_it_is_for() -> None:
    def undocumented(model: Any, above: str) -> Iterator[str]:
        for option in options(model):
            if option.section and "doc" not in option.about:
                yield from undocumented(option.section, f"{above}.{option.name}")
            elif not option.about.get("doc"):
                yield f"{above}.{option.name}"

    assert [name for each, model in PROCESSORS.models.items() for name in undocumented(model, each)] == []
