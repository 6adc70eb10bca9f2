"""No secret of a configuration is in an error message, in a `repr`, or in what a command prints."""

import dataclasses
import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from log_shipper.config.export import export
from log_shipper.config.text.secrets import MASK, Secret, hidden, is_secret
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import RawConfig, load, read
from log_shipper.config.yaml.schema import Option, options
from log_shipper.shipper.cli import commands as cli
from log_shipper.shipper.options.keystore import written_keystore
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.spark_sink import __main__ as sink_cli
from log_shipper.spark_sink.options.model import SinkConfig
from tests.config_lab import ConfigLab

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


Steps = tuple[str | tuple[str, str], ...]  # names, "[]" for an item of a list, (key, kind) for a section of a kind


@dataclass(frozen=True)
class Place:
    """An option below the model of a whole file."""

    steps: Steps
    option: Option

    @property
    def name(self) -> str:
        return ".".join(step for step in self.steps if isinstance(step, str) and step != "[]")

    @property
    def is_secret(self) -> bool:
        return Secret in (self.option.hint, *typing.get_args(self.option.hint))

    def written(self, value: object) -> str:
        """Return a configuration that has this value there, and nothing else."""
        for step in reversed(self.steps):
            if isinstance(step, tuple):
                value = {step[0]: step[1], **(value if isinstance(value, dict) else {})}
            else:
                value = [value] if step == "[]" else {step: value}
        return yaml.safe_dump(value, sort_keys=False)


def places(model: Any, above: Steps = (), around: tuple[Any, ...] = ()) -> Iterator[Place]:
    """Yield every option of a model, its inputs, outputs and processors, in sections of any kind."""
    if model in around:
        return  # a condition within a condition
    for option in options(model):
        steps: Steps = (*above, *option.keys[0].split("."))
        below: list[tuple[Steps, Any]] = []
        if option.named_items:
            below = [((*steps, "[]", name), inner) for name, inner in option.named_items.models.items()]
        elif option.kinds:
            item: Steps = ("[]",) if option.many else ()
            below = [((*steps, *item, (option.kinds.key, kind)), inner) for kind, inner in option.kinds.models.items()]
        elif option.section is not None:
            below = [((*steps, "[]") if option.many else steps, option.section)]
        else:
            yield Place(steps, option)
        for inside, inner in below:
            yield from places(inner, inside, (*around, model))


RAW = ("librdkafka", "options", "spark", "options_headers")  # maps whose members may be secrets, by their names
MODELS = {"shipper": ShipperConfig, "sink": SinkConfig}
ALL = [(name, place) for name, model in MODELS.items() for place in places(model)]
SECRETS = [(name, place) for name, place in ALL if place.is_secret]


def test_an_option_is_a_secret_by_its_type_where_its_name_is_that_of_one_and_the_reverse() -> None:
    """What is printed before there are options goes by names."""
    assert len(ALL) > 8000
    assert len(SECRETS) > 30
    assert [place.name for _, place in ALL if place.is_secret != is_secret(place.name, "x")] == []


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_no_repr_shows_maps_that_may_have_secrets(model: Any) -> None:
    raw = [place for place in places(model) if place.steps[-1] in RAW]
    assert raw
    shown = {field.name: field.repr for each in dataclass_models(model) for field in dataclasses.fields(each)}
    assert [place.name for place in raw if shown[place.option.name]] == []


def dataclass_models(model: Any, around: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield the models that have a map of RAW."""
    if model in around:
        return
    if {option.keys[0] for option in options(model)} & set(RAW):
        yield model
    for option in options(model):
        inner = option.kinds.models.values() if option.kinds else [option.section] if option.section else []
        for each in inner:
            yield from dataclass_models(each, (*around, model))


VALUES: tuple[object, ...] = (MARKER, [MARKER], {"a": MARKER}, {"a": [{"b": MARKER}]})


def test_a_secret_of_any_section_is_neither_exported_nor_in_a_mistake(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    file = tmp_path / "config.yml"
    for (model, place), value in product(SECRETS, VALUES):
        with subtests.test(f"{model}: {place.name}: {value}"):
            file.write_text(place.written(value))
            text = export([file], MODELS[model], (), {})
            assert MASK in text
            with pytest.raises(ConfigError) as caught:
                load(file, MODELS[model], (f"stop={MARKER}", f"queue.mem.events={MARKER}"), {})  # messages quote these
            assert MARKER not in text + str(caught.value) + repr(caught.value)


def test_a_secret_shows_itself_only_where_it_is_asked_to() -> None:
    secret = Secret(MARKER)
    assert {str(secret), repr(secret), f"{secret}", f"{secret!r}", f"{[secret]}"} == {MASK, f"[{MASK}]"}
    assert (secret.reveal(), secret == Secret(MARKER), secret == MARKER, bool(Secret(""))) == (
        MARKER,
        True,
        False,
        False,
    )
    with pytest.raises(TypeError):
        json.dumps(secret)
    with pytest.raises(TypeError):
        orjson.dumps(secret)


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


OF_INPUTS_AND_THE_REST = [
    f"shipper.inputs: [{{type: http, id: h, listen_port: 0, basic_auth: true, username: me, password: {MARKER}}}]",
    f"shipper.inputs: [{{type: http, id: h, listen_port: 0, bearer_token: {MARKER}}}]",
    f"shipper.inputs: [{{type: http, id: h, listen_port: 0, secret: {{header: X-Key, value: {MARKER}}}}}]",
    f"shipper.inputs: [{{type: http, id: h, listen_port: 0, hmac: {{header: X-Sig, key: {MARKER}}}}}]",
    f"shipper.inputs: [{{type: http, id: h, listen_port: 0, options_headers: {{X-Key: {MARKER}}}}}]",
    f"shipper.inputs: [{{type: tcp, id: t, host: '127.0.0.1:0', ssl: {{certificate: /c, key: {MARKER}}}}}]",
    "shipper.inputs: [{type: tcp, id: t, host: '127.0.0.1:0', ssl: {certificate: /c, key: /k, key_passphrase: "
    f"{MARKER}}}}}]",
    "shipper.inputs: [{type: kafka, id: k, hosts: ['127.0.0.1:9'], topics: [t], group_id: g, username: me, "
    f"password: {MARKER}}}]",
    "shipper.inputs: [{type: kafka, id: k, hosts: ['127.0.0.1:9'], topics: [t], group_id: g, librdkafka: "
    f"{{sasl.password: {MARKER}}}}}]",
    f"processors: [{{add_docker_metadata: {{host: 'tcp://me:{MARKER}@127.0.0.1:9'}}}}]",
    f"processors: [{{add_docker_metadata: {{host: 'tcp://127.0.0.1:9', ssl: {{certificate: /c, key: '{MARKER}'}}}}}}]",
    f"processors: [{{add_cloud_metadata: {{host: 'http://me:{MARKER}@host:80'}}}}]",
    f"output.kafka: {{headers: [{{key: authorization, value: {MARKER}}}]}}",
    "output.kafka.sasl: {mechanism: OAUTHBEARER, oauthbearer: {client_id: a, client_secret: b, "
    f"token_endpoint_url: 'http://me:{MARKER}@127.0.0.1:9/'}}}}",
]
MORE_COMMANDS = (*COMMANDS, ("test", "output"), ("test", "pipeline"), ("run", "--once", "--once-timeout", "100ms"))


@pytest.mark.parametrize("command", MORE_COMMANDS, ids=" ".join)
@pytest.mark.parametrize("written", OF_INPUTS_AND_THE_REST, ids=range(len(OF_INPUTS_AND_THE_REST)))
def test_no_command_prints_those_of_inputs_processors_and_headers(
    written: str, command: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "more.yml"
    whole = shipper_yml(tmp_path, Planted("", "client_id: x"))
    if written.startswith("shipper.inputs"):
        whole.write_text("\n".join(whole.read_text().splitlines()[1:]) + "\n")
    file.write_text(written)
    file.chmod(0o600)
    cli.main([*command, "-c", str(whole), "-c", str(file)])
    printed = "".join(capfd.readouterr())
    assert printed
    assert MARKER not in printed
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
def test_no_mistake_shows_them(lines: str, lab: ConfigLab) -> None:
    with pytest.raises(ConfigError) as caught:
        lab.load(f"shipper.inputs: [{{id: a, paths: [x]}}]\noutput.kafka:\n  {lines}\n")
    assert MARKER not in str(caught.value)
    assert MARKER not in repr(caught.value)


def test_an_override_without_a_value_is_not_shown_beyond_its_name(lab: ConfigLab) -> None:
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


def test_a_secret_of_the_keystore_that_a_processor_has_is_not_explained(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = shipper_yml(tmp_path, Planted("", "client_id: x"))
    with file.open("a") as opened:
        opened.write("processors: [{add_fields: {fields: {a: 'x ${SECRET}'}}}]\n")
    (tmp_path / "data").mkdir()
    keystore = tmp_path / "data" / "shipper.keystore"
    keystore.write_bytes(written_keystore({"SECRET": MARKER}))
    keystore.chmod(0o600)
    assert cli.main(["test", "config", "--explain", "-c", str(file)]) == 0
    printed = "".join(capfd.readouterr())
    assert f"add_fields fields: {{a: 'x {MASK}'}}" in printed
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
