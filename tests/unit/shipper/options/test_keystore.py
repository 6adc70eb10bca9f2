"""Secrets for ${NAME}: where they are read from, and what takes precedence."""

from pathlib import Path

import pytest

from log_shipper.config.export import export
from log_shipper.config.text.secrets import MASK
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.keystore import FILE, is_name, read_keystore, written_keystore
from log_shipper.shipper.options.model import ShipperConfig
from tests.config_lab import ConfigLab


def keep(path: Path, **secrets: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(written_keystore(secrets))
    path.chmod(0o600)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    secrets = {"A": "p${w}: x\n", "b.c-d": "ü\u2028"}
    keep(tmp_path / FILE, **secrets)
    assert read_keystore(tmp_path / FILE) == secrets


def test_a_secret_of_the_data_path_is_filled_in_before_a_variable(lab: ConfigLab, tmp_path: Path) -> None:
    keep(tmp_path / "data" / FILE, NAME="${PLAIN}")
    text = f"{lab.whole}path.data: {tmp_path}/${{WHERE}}\nname: '${{NAME}}-${{OTHER}}'\n"
    assert lab.load(text, env={"WHERE": "data", "NAME": "environment", "OTHER": "x"}).name == "${PLAIN}-x"


def test_another_path_can_be_given(lab: ConfigLab, tmp_path: Path) -> None:
    keep(tmp_path / "secrets", NAME="web")
    assert lab.load_with(f"keystore: {{path: {tmp_path}/secrets}}\nname: ${{NAME}}\n").name == "web"
    assert lab.load(f"{lab.whole}name: ${{NAME:none}}\n", overrides=[f"keystore.path={tmp_path}/secrets"]).name == "web"


def test_without_a_keystore_there_are_no_secrets(lab: ConfigLab, tmp_path: Path) -> None:
    (problem,) = lab.problems_with(f"path.data: {tmp_path}\nname: ${{NAME}}\n")
    assert problem.endswith("name: variable NAME is not set; set a default with ${NAME:value}")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the keystore is damaged"),
        (b'{"version": 1}', "the keystore is damaged"),
        (b'{"version": 1, "secrets": {"A": "?"}}', "the keystore is damaged"),
        (b'{"version": 2, "secrets": {}}', "keystore version 2"),
    ],
)
def test_a_damaged_keystore_is_an_error_that_names_it(
    lab: ConfigLab, tmp_path: Path, content: bytes, problem: str
) -> None:
    (tmp_path / "secrets").write_bytes(content)
    (tmp_path / "secrets").chmod(0o600)
    with pytest.raises(ConfigError, match=f"secrets: {problem}"):
        lab.load_with(f"keystore.path: {tmp_path}/secrets\n")


def test_a_keystore_that_others_may_read_is_refused(tmp_path: Path) -> None:
    keep(tmp_path / FILE, A="x")
    (tmp_path / FILE).chmod(0o640)
    with pytest.raises(ConfigError, match=r"accessible to other users \(mode 0640\); run: chmod 600"):
        read_keystore(tmp_path / FILE)


def test_an_input_never_reads_the_keystore(lab: ConfigLab) -> None:
    inputs = "shipper.inputs: [{type: log, paths: ['/data/*.keystore', '/etc/secret*']}]\noutput.console:\n"
    problems = lab.problems(f"{inputs}path.data: /data\nkeystore.path: /etc/secrets\n")
    assert ["/data/shipper.keystore of path.data" in problems[0], "/etc/secrets of keystore.path" in problems[1]] == [
        True,
        True,
    ]


def test_an_export_shows_no_secret(lab: ConfigLab, tmp_path: Path) -> None:
    keep(tmp_path / FILE, TEAM="s3cret", SHORT="a")
    lab.file.write_text(
        f"{lab.whole}path.data: {tmp_path}\nfields: {{team: 'a ${{TEAM}} b', list: ['${{TEAM}}'], x: '${{SHORT}}'}}\n"
    )
    exported = export([lab.file], ShipperConfig)
    assert "s3cret" not in exported
    assert f"a {MASK} b" in exported
    assert f"x: {MASK}" in exported


def test_names_can_be_written_as_variables() -> None:
    assert [name for name in ("A", "a.b-c_1", "", "a b", "a:b", "${A}", "-a", "ä") if is_name(name)] == ["A", "a.b-c_1"]
