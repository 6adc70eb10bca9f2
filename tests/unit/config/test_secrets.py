"""No secret of a configuration is in an error message, in a `repr`, or in what a command prints."""

import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.export import MASK
from config.shipper.keystore import written_keystore
from config.shipper.model import ShipperConfig
from config.sink.model import SinkConfig
from config.text.secrets import hidden, is_secret
from config.yaml.errors import ConfigError
from config.yaml.load import RawConfig, read
from config.yaml.schema import Option, options
from shipper import cli
from spark_sink import __main__ as sink_cli
from tests.unit.config.conftest import Lab

MARKER = "hunter2-and-more"
BARE_KEY = "MC4CAQAwBQYDK2VwBCIEIHvXxP9kGV/" + "a" * 60


@dataclass(frozen=True)
class Planted:
    """An option with a secret, and others that it needs. The first line below `output.kafka` or `kafka`."""

    option: str
    lines: str
    secret: str = MARKER


OF_BOTH = [
    Planted("password", f"username: me\npassword: {MARKER}"),
    Planted(
        "sasl.oauthbearer.client_secret",
        "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_endpoint_url: 'https://login', client_id: me, "
        f"client_secret: {MARKER}}}}}",
    ),
    Planted("ssl.key_passphrase", f"ssl: {{certificate: /c.pem, key: /k.pem, key_passphrase: {MARKER}}}"),
    Planted("ssl.key", f'ssl: {{certificate: /c.pem, key: "-----BEGIN PRIVATE KEY-----\\n{MARKER}"}}'),
    Planted("ssl.key", f"ssl: {{certificate: /c.pem, key: {BARE_KEY}}}", BARE_KEY),
    Planted("kerberos.password", f"kerberos: {{auth_type: password, username: me, password: {MARKER}}}"),
    *(
        Planted("librdkafka", f'librdkafka: {{{setting}: "{MARKER}"}}')
        for setting in (
            "sasl.password",
            "ssl.key.password",
            "ssl.keystore.password",
            "ssl.key.pem",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.config",
        )
    ),
]
OF_THE_SINK = [
    Planted("options", f"options: {{kafka.ssl.truststore.password: {MARKER}}}"),
    Planted("options", f"options: {{kafka.sasl.jaas.config: 'x required password=\"{MARKER}\";'}}"),
]


def planted_in(options: list[Planted]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("planted", options, ids=lambda planted: planted.lines.partition("\n")[0][:40])


def indented(lines: str) -> str:
    return "".join(f"  {line}\n" for line in lines.splitlines())


def shipper_yml(tmp_path: Path, planted: Planted) -> Path:
    file = tmp_path / "shipper.yml"
    file.write_text(
        f"shipper.inputs: [{{type: filestream, id: a, paths: ['{tmp_path}/*.log']}}]\npath.data: {tmp_path}/data\n"
        f"output.kafka:\n  hosts: ['127.0.0.1:9']\n  topic: logs\n{indented(planted.lines)}"
    )
    file.chmod(0o600)
    return file


def sink_yml(tmp_path: Path, planted: Planted) -> Path:
    file = tmp_path / "sink.yml"
    file.write_text(
        f"table.path: {tmp_path}/t\ncheckpoint.path: {tmp_path}/c\n"
        f"kafka:\n  hosts: ['127.0.0.1:9']\n  topics: [logs]\n{indented(planted.lines)}"
    )
    return file


def secrets_of(model: Any, above: str = "") -> Iterator[tuple[str, Option, bool]]:
    """Yield the options of a model that have secrets, with their dotted names, and True if they are in a repr."""
    shown = {field.name: field.repr for field in dataclasses.fields(model)}
    for option in options(model):
        for key in option.keys[:1]:
            name = f"{above}.{key}".removeprefix(".")
            if option.section is not None and not option.many and not option.kinds:
                yield from secrets_of(option.section, name)
            elif is_secret(name, "x") or (typing.get_origin(option.hint) is dict and key in RAW):
                yield name, option, shown[option.name]


RAW = ("librdkafka", "options", "spark")


def test_the_tables_have_all_options_that_are_secrets() -> None:
    def below(model: Any, section: str) -> set[str]:
        return {name.removeprefix(section) for name, _, _ in secrets_of(model)}

    tested = {planted.option for planted in OF_BOTH}
    assert below(ShipperConfig, "output.kafka.") == tested
    assert below(SinkConfig, "kafka.") == tested | {planted.option for planted in OF_THE_SINK} | {"spark"}


@pytest.mark.parametrize("model", [ShipperConfig, SinkConfig])
def test_no_repr_shows_them(model: Any) -> None:
    assert [name for name, _, is_shown in secrets_of(model) if is_shown] == []


COMMANDS = (
    ("test", "config"),
    ("test", "config", "--explain"),
    ("export", "config"),
    ("run", "--once", "-E", "queue.mem.events=many"),
    ("run", "--once", "-E", "output.kafka.backoff.init=-1", "-d", "*"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@planted_in(OF_BOTH)
def test_no_command_of_the_shipper_prints_them(
    planted: Planted, command: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cli.main([*command, "-c", str(shipper_yml(tmp_path, planted))])
    printed = "".join(capfd.readouterr())
    assert printed
    assert planted.secret not in printed
    if command[0] == "export":
        assert MASK in printed


@pytest.mark.parametrize("command", [("test", "config"), ("export", "config"), ("test", "config", "-E", "stop=x")])
@planted_in([*OF_BOTH, *OF_THE_SINK])
def test_no_command_of_the_sink_prints_them(
    planted: Planted, command: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sink_cli.main([*command, "-c", str(sink_yml(tmp_path, planted))])
    printed = "".join(capfd.readouterr())
    assert printed
    assert planted.secret not in printed


@pytest.mark.parametrize(
    "lines",
    [
        f"password: *{MARKER}",
        f"password: !{MARKER}!x y",
        f"password: [{MARKER}]",
        f"password: {{a: {MARKER}}}",
        f'password: "{MARKER}',
        f"password: {MARKER}: y",
        f"hosts: ['https://me:{MARKER}@host']\n  password: x",
        f"sasl.oauthbearer: {{token_endpoint_url: 'ftp://me:{MARKER}@host', client_id: x, client_secret: y}}",
        f"sasl.oauthbearer.extensions: {{'a b': '{MARKER}'}}\n  password: {MARKER}",
        f"ssl.verification_mode: {MARKER}\n  password: {MARKER}",
        f"compression: '{MARKER}'\n  librdkafka: {{'sasl.password': '{MARKER}'}}",
    ],
)
def test_no_mistake_shows_them(lines: str, lab: Lab) -> None:
    with pytest.raises(ConfigError) as caught:
        lab.load(f"shipper.inputs: [{{id: a, paths: [x]}}]\noutput.kafka:\n  {lines}\n")
    assert MARKER not in str(caught.value)
    assert MARKER not in repr(caught.value)


def test_an_override_without_a_value_is_not_shown_beyond_its_name(lab: Lab) -> None:
    with pytest.raises(ConfigError) as caught:
        lab.load(lab.whole, overrides=[f"output.kafka.password:{MARKER}"])
    assert str(caught.value).endswith("-E: 'output.kafka.password' must be key=value, as in name=web-1")


def test_a_secret_of_the_keystore_is_shown_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = shipper_yml(
        tmp_path, Planted("", "client_id: '${SECRET}'\ncompression: '${SECRET}'\npartition.x: ${SECRET}")
    )
    (tmp_path / "data").mkdir()
    keystore = tmp_path / "data" / "shipper.keystore"
    keystore.write_bytes(written_keystore({"SECRET": MARKER}))
    keystore.chmod(0o600)
    for command in (("test", "config"), ("export", "config"), ("run",)):
        cli.main([*command, "-c", str(file)])
    printed = "".join(capfd.readouterr())
    assert f"{MASK!r} must be one of: none, gzip" in printed
    assert MARKER not in printed


def test_what_is_read_before_the_model_shows_no_value(tmp_path: Path) -> None:
    raw = read([shipper_yml(tmp_path, OF_BOTH[0])], ShipperConfig, (), {"PASSWORD": MARKER})
    assert isinstance(raw, RawConfig)
    assert MARKER not in repr(raw) + repr(raw.root) + repr(raw.env)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'hunter2' is bad", f"'{MASK}' is bad"),
        ("it's 'a\\nb\\\\c'", f"it's '{MASK}'"),
        ("abc is short", "abc is short"),
        ("abc", MASK),
        ("hunter2hunter2", MASK * 2),
    ],
)
def test_secrets_are_hidden_in_a_text(text: str, shown: str) -> None:
    assert hidden(text, ["hunter2", "a\nb\\c", "abc", ""]) == shown
