from pathlib import Path

import pytest

from spark_sink.__main__ import main


def test_a_wrong_configuration_is_told_before_spark_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sink.yml"
    file.write_text("kafka:\n  hosts: [a:1]\n  topics: [logs]\n  topicz: [logs]\ntable.path: /t\ncheckpoint.path: /c\n")
    assert main(["run", "-c", str(file)]) == 1
    assert f"{file}:4: kafka.topicz: unknown option; did you mean " in capsys.readouterr().err


def test_a_configuration_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-c", str(tmp_path / "none.yml")]) == 1
    assert "none.yml" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["run"], ["fly"]])
def test_a_wrong_command_line_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: spark-sink" in capsys.readouterr().err
