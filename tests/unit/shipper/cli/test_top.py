"""`shipper top` without a terminal."""

import json
from pathlib import Path

import pytest

from log_shipper.shipper.cli.commands import main, parse
from log_shipper.shipper.top.charts import ASCII, BLOCKS, CONSOLE, Glyphs
from log_shipper.shipper.top.screen import glyphs_of
from tests.status_documents import document, serving, status_of


def test_one_frame_is_printed_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path / "shipper.sock", status_of(document())):
        assert main(["top", "--once", "--path.data", str(tmp_path), "-c", str(tmp_path / "none.yml")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("shipper web-1  0.3.0  up 1d 02h")
    assert text.count("/app.log") == 22


def test_a_program_gets_the_state_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path / "shipper.sock", status_of(document())):
        assert main(["top", "--json", "--path.data", str(tmp_path), "-c", str(tmp_path / "none.yml")]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(document()))


def test_the_socket_is_in_the_path_data_of_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "shipper.yml"
    config.write_text(
        f"shipper.inputs: [{{type: filestream, id: a, paths: [/x]}}]\noutput.console: {{}}\npath.data: {tmp_path}\n"
    )
    config.chmod(0o600)
    with serving(tmp_path / "shipper.sock", status_of(document())):
        assert main(["top", "-c", str(config)]) == 0
    assert "web-1" in capsys.readouterr().out


def test_a_url_needs_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path / "s", status_of(document(program="spark-sink"))):
        assert main(["top", "--url", f"unix://{tmp_path}/s"]) == 0
    assert capsys.readouterr().out.startswith("spark-sink web-1")


def test_an_agent_that_does_not_run_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once", "--path.data", str(tmp_path), "-c", str(tmp_path / "none.yml")]) == 1
    assert "the shipper with this path.data is not running" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--url", "web-1"], "is not a URL"), (["--interval", "0.1"], "less than"), (["--interval", "x"], "duration")],
)
def test_a_wrong_option_is_a_usage_error(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["top", *options])
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("encoding", "terminal", "glyphs"),
    [
        ("utf-8", "xterm-256color", BLOCKS),
        ("UTF8", "screen", BLOCKS),
        ("UTF-8", "linux", CONSOLE),
        ("UTF-8", "vt100", ASCII),
        ("iso-8859-1", "xterm", ASCII),
    ],
)
def test_a_terminal_gets_the_characters_that_it_has(encoding: str, terminal: str, glyphs: Glyphs) -> None:
    assert glyphs_of(encoding, terminal) == glyphs
