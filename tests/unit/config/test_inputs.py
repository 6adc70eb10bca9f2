"""What the shipper reads."""

import pytest

PATTERN = "parsers[0].multiline.pattern"


@pytest.mark.parametrize(
    ("line", "where", "message"),
    [
        ("pathz: [x]", "pathz", "unknown option; did you mean 'paths'?"),
        ("type: log", "type", "'log' must be one of: filestream"),
        ("encoding: latin1", "encoding", "'latin1' must be one of: utf-8"),
        ("message_max_bytes: 0", "message_max_bytes", "must be at least 1"),
        (
            "message_max_bytes: big",
            "message_max_bytes",
            "'big' is not a size; write bytes as a number, or 10MiB, 64KiB, 1MB",
        ),
        ("include_lines: [x]", "include_lines", "not supported (yet)"),
        ("close.reader.on_eof: true", "close.reader", "not supported (yet)"),
        ("close.on_state_change.removed: true", "close.on_state_change.removed", "not supported (yet)"),
        ("prospector.scanner.symlinks: true", "prospector.scanner.symlinks", "not supported (yet)"),
        (
            "multiline.pattern: x",
            "multiline",
            "not supported (yet); it belongs below parsers, as '- multiline:'",
        ),
        ("parsers: [{}]", "parsers[0].multiline", "missing; it is the only parser (yet)"),
        ("parsers: [multiline: {}]", PATTERN, "missing"),
        (
            "parsers: [multiline: {pattern: '('}]",
            PATTERN,
            "'(' is not a regular expression: missing ), unterminated subpattern",
        ),
        (
            "parsers: [multiline: {pattern: x, match: below}]",
            "parsers[0].multiline.match",
            "'below' must be one of: after, before",
        ),
        (
            "parsers: [multiline: {pattern: x, max_lines: 0}]",
            "parsers[0].multiline.max_lines",
            "must be at least 1",
        ),
        (
            "parsers: [multiline: {pattern: x, flush_pattern: y}]",
            "parsers[0].multiline.flush_pattern",
            "not supported (yet)",
        ),
    ],
)
def test_a_mistake_in_an_input_is_named(lab, line, where, message):
    text = lab.whole.replace("output.", f"    {line}\noutput.")
    assert lab.problems(text) == [f"shipper.yml:4: shipper.inputs[0].{where}: {message}"]


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (
            "- paths: [x]",
            "2: shipper.inputs[0].id: missing; every filestream input needs an id of its own, as in 'id: nginx'",
        ),
        ("- id: a", "2: shipper.inputs[0].paths: missing"),
        ("- {id: a, paths: []}", "2: shipper.inputs[0].paths: must not be empty"),
        ("- {id: a, paths: [x, ' ']}", "2: shipper.inputs[0].paths[1]: is empty"),
        ("- {id: ' ', paths: [x]}", "2: shipper.inputs[0].id: is empty"),
        ("- just text", "2: shipper.inputs[0]: must be a section of options (key: value)"),
        ("  id: a\n  paths: [x]", "1: shipper.inputs: must be a list (- item)"),
        ("", "1: shipper.inputs: missing"),
        ("  []", "1: shipper.inputs: no input is enabled; at least one must be"),
        ("- {id: a, paths: [x], enabled: no}", "1: shipper.inputs: no input is enabled; at least one must be"),
    ],
)
def test_a_mistake_about_inputs_is_named(lab, inputs, problem):
    assert lab.problems(f"shipper.inputs:\n{inputs}\noutput.console:\n") == [f"shipper.yml:{problem}"]


def test_every_input_needs_an_id_of_its_own(lab):
    inputs = "- {id: a, paths: [x]}\n- {id: b, paths: [x]}\n-\n    paths: [x]\n    id: a\n"
    assert lab.problems(f"filebeat.inputs:\n{inputs}output.console:\n") == [
        "shipper.yml:6: filebeat.inputs[2].id: 'a' is also the id of input 0; each needs its own"
    ]


def test_all_mistakes_of_all_inputs_are_told_at_once(lab):
    inputs = "- {paths: []}\n- {id: b, path: [x]}\n"
    assert [problem.partition(";")[0] for problem in lab.problems(f"shipper.inputs:\n{inputs}output.consol:\n")] == [
        "shipper.yml:2: shipper.inputs[0].id: missing",
        "shipper.yml:2: shipper.inputs[0].paths: must not be empty",
        "shipper.yml:3: shipper.inputs[1].path: unknown option",
        "shipper.yml:3: shipper.inputs[1].paths: missing",
        "shipper.yml:4: output.consol: unknown option",
        "shipper.yml:4: output: no output is enabled",
    ]
