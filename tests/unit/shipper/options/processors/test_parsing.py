"""Options of dissect, grok and redact: what is a mistake, and how it is reported."""

import json

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.processors.parsing import DissectConfig, GrokConfig, RedactConfig
from log_shipper.shipper.options.processors.secrets import DEFAULT
from tests.processing import section


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        section(text)
    (line,) = str(caught.value).splitlines()
    return line.partition(": ")[2]


def test_options_have_the_defaults_of_filebeat() -> None:
    (dissect,) = section('- dissect: {tokenizer: "%{a}"}').processors
    assert dissect == DissectConfig(
        tokenizer="%{a}",
        source="message",
        target_prefix="dissect",
        ignore_failure=False,
        overwrite_keys=False,
        trim_values="none",
        trim_chars=" ",
    )
    grok, redact = section('- grok: {patterns: "%{WORD:a}"}\n- redact:').processors
    assert grok == GrokConfig(patterns=("%{WORD:a}",))
    assert redact == RedactConfig(patterns=DEFAULT)


@pytest.mark.parametrize(
    ("tokenizer", "words"),
    [
        ("text", "has no key"),
        ("%{}", "extracts nothing"),
        ("%{a|number}", "the type after | must be one of: integer"),
        ("%{a|}", "the type after | must be one of"),
        ("%{+&a}", "cannot be combined"),
        ("%{&+a}", "cannot be combined"),
        ("%{+}", "needs a name"),
        ("%{a..b}", "has an empty part"),
        ("%{&a}", "refers to a missing key"),
        ("%{a} %{a.b}", "'a' cannot be a value and contain 'a.b' as well"),
    ],
)
def test_a_tokenizer_without_sense_is_reported(tokenizer: str, words: str) -> None:
    line = problem(f"- dissect: {{tokenizer: {json.dumps(tokenizer)}}}")
    assert line.startswith("processors[0].dissect.tokenizer: ")
    assert words in line


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("%{WRD:a}", "there is no pattern WRD; did you mean WORD?"),
        ("%{QQQQQQ}", "there is no pattern QQQQQQ; define it"),
        ("%{WORD:a:number}", "the type must be one of: int"),
        ("%{WORD a}", "is not of the form %{PATTERN:field:type}"),
        ("%{WORD:a..b}", "is not the name of a field"),
        ("%{SELF}", "pattern SELF refers to itself: SELF > OTHER > SELF"),
        ("%{E9}", "expands to more than"),
        ("%{WORD:a} %{WORD:a.b}", "'a' cannot be a value and contain 'a.b' as well"),
        ("(", "'(' is not a regular expression as RE2 has it"),
        ("(?=x)", "RE2 has no look-around"),
        ("%{GREEDYDATA:a}(?<!x)", "RE2 has no look-around"),
        ("%{WORD:a} %{IP:b", "'%{IP:b' has no closing brace"),
        ("%{BAD}", "is not a regular expression"),
    ],
)
def test_a_pattern_without_sense_is_reported(pattern: str, words: str) -> None:
    own = {"SELF": "x%{OTHER}", "OTHER": "%{SELF}?", "BAD": "x**", "E0": "x" * 1000}
    own |= {f"E{n}": f"%{{E{n - 1}}}" * 3 for n in range(1, 10)}
    line = problem(
        f"- grok: {{patterns: ['%{{WORD:ok}}', {json.dumps(pattern)}], pattern_definitions: {json.dumps(own)}}}"
    )
    assert line.startswith("processors[0].grok.patterns[1]: ")
    assert words in line
    assert len(line) < 400


def test_a_definition_is_text() -> None:
    line = problem("- grok: {patterns: ['%{N}'], pattern_definitions: {N: 7}}")
    assert line == "processors[0].grok.pattern_definitions.N: must be text; put it in quotes"


@pytest.mark.parametrize(
    ("options", "where", "words"),
    [
        ("patterns: [credit_cart]", "patterns[0]", "must be one of: credit_card"),
        ("patterns: []", "patterns", "nothing is masked"),
        ("fields: []", "fields", "must not be empty"),
        ("custom: {x: '('}", "custom.x", "is not a regular expression"),
        ("custom: {x: 7}", "custom.x", "must be text"),
        ("custom: {x: ''}", "custom.x", "is empty"),
        ("custom: {email: x}", "custom.email", "is a built-in pattern"),
        ("mask: xx", "mask", "must be one character"),
        ("keep_last: 4", "keep_last", "needs mask"),
        ("keep_last: -1", "keep_last", "must be at least 0"),
    ],
)
def test_what_redact_cannot_do_is_reported(options: str, where: str, words: str) -> None:
    line = problem(f"- redact: {{{options}}}")
    assert line.startswith(f"processors[0].redact.{where}: ")
    assert words in line
