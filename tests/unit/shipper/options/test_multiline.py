from typing import Any

import pytest

from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.config_lab import ConfigLab

WHERE = "shipper.inputs[0].parsers[0].multiline"

OF_PATTERN = "belongs to type: pattern; this is type: while_pattern"
OF_PATTERNS = "belongs to type: pattern or while_pattern; this is type: count"


def text_with(lab: ConfigLab, options: str) -> str:
    return lab.whole.replace("output.", f"    parsers: [multiline: {{{options}}}]\noutput.")


@pytest.mark.parametrize(
    ("options", "where", "message"),
    [
        ("", "pattern", "required with type: pattern"),
        ("type: pattern", "pattern", "required with type: pattern"),
        ("type: while_pattern", "pattern", "required with type: while_pattern"),
        ("type: count", "count_lines", "required with type: count"),
        ("type: count, count_lines: 0", "count_lines", "must be at least 1"),
        ("pattern: x, max_lines: -1", "max_lines", "must be at least 0"),
        ("type: count, count_lines: 2, pattern: x", "pattern", OF_PATTERNS),
        ("type: count, count_lines: 2, negate: true", "negate", OF_PATTERNS),
        ("type: while_pattern, pattern: x, match: before", "match", OF_PATTERN),
        ("type: while_pattern, pattern: x, flush_pattern: y", "flush_pattern", OF_PATTERN),
        ("pattern: x, count_lines: 3", "count_lines", "belongs to type: count; this is type: pattern"),
        ("type: while, pattern: x", "type", "'while' must be one of: pattern, count, while_pattern"),
    ],
)
def test_a_mistake_is_named(lab: ConfigLab, options: str, where: str, message: str) -> None:
    assert lab.problems(text_with(lab, options)) == [f"shipper.yml:4: {WHERE}.{where}: {message}"]


@pytest.mark.parametrize(
    "options",
    [
        "type: count, count_lines: 2, negate: false, match: after",
        "type: while_pattern, pattern: x, match: after",
        "pattern: x, flush_pattern: y, match: before, negate: true, max_lines: 0, timeout: 0, skip_newline: true",
    ],
)
def test_what_says_nothing_in_a_type_and_is_at_its_default_is_let_through(lab: ConfigLab, options: str) -> None:
    assert lab.load(text_with(lab, options))


def test_log_has_the_same_options(lab: ConfigLab) -> None:
    text = "shipper.inputs: [{type: log, paths: x, multiline.type: count, multiline.count_lines: 3}]\noutput.console:\n"
    assert lab.load(text).inputs[0].parsers == (MultilineConfig(type="count", count_lines=3),)


@pytest.mark.parametrize(
    ("options", "lines", "seconds"),
    [
        ({"pattern": "x"}, 500, 5.0),
        ({"pattern": "x", "max_lines": 0, "timeout": 0.0}, None, 300.0),
        ({"pattern": "x", "max_lines": 7, "timeout": 9.0}, 7, 9.0),
        ({"type": "while_pattern", "pattern": "x"}, 500, 5.0),
        ({"type": "count", "count_lines": 800}, 800, 300.0),
        ({"type": "count", "count_lines": 800, "max_lines": 10, "timeout": 2.0}, 10, 2.0),
    ],
)
def test_what_is_left_out_is_taken_for_the_type(options: dict[str, Any], lines: int | None, seconds: float) -> None:
    config = MultilineConfig(**options)
    assert (config.max_kept_lines, config.ends_after) == (lines, seconds)
