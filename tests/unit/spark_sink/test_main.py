import io
import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest
import yaml

from demo.process import SINK_PROGRAM
from log_shipper import VERSION, config
from log_shipper.spark_sink import commands
from log_shipper.spark_sink.__main__ import main, whole_parser
from log_shipper.spark_sink.options.tables import BUILT_IN
from log_shipper.spark_sink.records.schema import LINES, names
from tests.java import QUICK
from tests.json_schemas import check_schema, refusals

SMALL = "kafka:\n  hosts: [a:1]\n  topics: [logs]\ntable.path: /t/logs\ncheckpoint.path: /c\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "sink.yml"
    file.write_text(SMALL)
    return file


EACH = [
    ["run"],
    ["maintain"],
    ["status"],
    ["repair", "--from-kafka"],
    ["test", "config"],
    ["export", "config"],
]


@pytest.mark.parametrize("command", EACH, ids=" ".join)
def test_a_wrong_configuration_is_reported_before_spark_starts(
    command: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SMALL + "kafka.topicz: [logs]\n")
    assert main([*command, "-c", str(file)]) == 1
    assert f"{file}:6: kafka.topicz: unknown option; did you mean " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "maintain"])
def test_what_needs_no_spark_runs_where_there_is_none(command: str, tmp_path: Path) -> None:
    file = tmp_path / "sink.yml"
    file.write_text(
        f"kafka.hosts: ['127.0.0.1:1']\nkafka.topics: [logs]\ntable.path: {tmp_path}/lines\n"
        f"checkpoint.path: {tmp_path}/checkpoint\n"
    )
    script = f"""
import sys
sys.modules.update(pyspark=None, py4j=None, delta=None)
from log_shipper.spark_sink.__main__ import main
sys.exit(main([{command!r}, '-c', {str(file)!r}]))
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("PATH", "JAVA_HOME")}  # no Java
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    output = ended.stdout + ended.stderr
    assert (ended.returncode, ended.stderr.count("Traceback")) == ({"status": 1, "maintain": 0}[command], 0), output
    assert {"status": "error: cannot read from Kafka", "maintain": "maintained: 0 tables"}[command] in output


def test_a_wrong_configuration_is_reported_where_there_is_no_pyspark(file: Path) -> None:
    file.write_text(SMALL + "startt: latest\n")
    script = f"""
import sys
sys.modules.update(pyspark=None, py4j=None, delta=None)
from log_shipper.spark_sink.__main__ import main
sys.exit(main(['run', '-c', {str(file)!r}]))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"{file}:6: startt: unknown option; did you mean 'start'?")


def test_a_search_reports_a_wrong_configuration_as_grep_reports_errors(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SMALL + "kafka.topicz: [logs]\n")
    assert main(["search", "text", "-c", str(file)]) == 2
    assert f"{file}:6: kafka.topicz: unknown option; did you mean " in capsys.readouterr().err


def test_a_search_names_the_libraries_that_are_missing() -> None:
    script = """
import sys
sys.modules.update(duckdb=None, deltalake=None)
from log_shipper.spark_sink.__main__ import main
sys.exit(main(['search', 'text', '--table', '/t']))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    message = "not installed: deltalake, duckdb; pip install '.[search]' in the project's directory\n"
    assert (ended.returncode, ended.stderr) == (2, message)


def test_a_configuration_that_is_not_there_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-c", str(tmp_path / "none.yml")]) == 1
    assert "none.yml" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["test", "config"], ["export", "config"], ["search", "text"]], ids=" ".join)
def test_without_a_configuration_it_is_sink_yml(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chdir(tmp_path):
        assert main(command) != 0
    assert "sink.yml: cannot be read: No such file or directory" in capsys.readouterr().err


def test_help_of_a_command_is_that_of_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["help", "status"], ["status", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith("usage: spark-sink status")


def test_what_cannot_be_reached_is_reported_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sink.yml"
    file.write_text(
        f"kafka: {{hosts: ['127.0.0.1:1'], topics: [logs]}}\ntable.path: {tmp_path}/lines\n"
        f"checkpoint.path: {file}/checkpoint\n"
    )
    assert main(["test", "output", "-c", str(file)]) == 1
    kafka, lines, *_, checkpoint, java = capsys.readouterr().out.splitlines()
    assert kafka.startswith("kafka 127.0.0.1:1... ERROR cannot read from Kafka at 127.0.0.1:1")
    assert lines == f"table.path {tmp_path}/lines... OK (does not exist yet)"
    assert checkpoint == f"checkpoint.path {file}/checkpoint... ERROR {file} is not a directory"
    assert java.startswith("java... OK (")
    assert not (tmp_path / "lines").exists()


@pytest.mark.spark
def test_sql_of_a_view_that_cannot_be_parsed_is_a_mistake(file: Path) -> None:
    file.write_text(
        SMALL + "views:\n- {name: right, sql: SELECT host FROM lines}\n- name: wrong\n  sql: SELECT host FORM lines\n"
    )
    command = [*SINK_PROGRAM, "test", "config", "-c", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | QUICK, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    *_, mistake = ended.stderr.splitlines()
    assert mistake.startswith(f"{file}:9: views[1].sql: [PARSE_SYNTAX_ERROR] Syntax error at or near 'lines'")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["test"],
        ["test", "topic", "-c", "x"],
        ["repair", "-c", "x"],
        ["repair", "-c", "x", "--reason", " "],
        ["repair", "-c", "x", "--reason", "a", "--from-kafka"],
        ["run", "-c", "x", "--dry-run"],
        ["status", "-c", "x", "--dry-run"],
        ["search", "text", "-c", "x", "--table", "y"],
        ["search", "--table", "y", "-i", "-s"],
        ["search", "--table", "y", "--since", "soon"],
        ["search", "--table", "y", "-n", "-1"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: spark-sink" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "command", "given"),
    [
        (["run"], commands.run, {"available_now": False}),
        (["run", "--available-now"], commands.run, {"available_now": True}),
        (["maintain", "--dry-run", "--json"], commands.maintain, {"dry_run": True, "json": True}),
        (["status", "--json"], commands.status, {"json": True}),
        (["repair", "--reason", "no JSON"], commands.repair, {"reason": "no JSON", "from_kafka": False}),
        (["repair", "--from-kafka", "--dry-run"], commands.repair, {"reason": None, "from_kafka": True}),
        (["test", "config"], commands.check_config, {}),
        (["test", "output"], commands.check_output, {}),
        (["export", "config"], commands.export_config, {}),
    ],
)
def test_each_command_takes_files_and_overrides(
    arguments: list[str], command: object, given: dict[str, object]
) -> None:
    options = vars(whole_parser().parse_args([*arguments, "-c", "a.yml", "-c", "b.yml", "-E", "start=latest"]))
    assert options["command"] is command
    assert (options["files"], options["overrides"]) == ([Path("a.yml"), Path("b.yml")], ["start=latest"])
    assert given.items() <= options.items()


def test_available_now_wins_over_where_the_configuration_stops(file: Path) -> None:
    file.write_text(SMALL + "stop: offsets\nstop_offsets: {logs: {0: 7}}\n")
    options = whole_parser().parse_args(["run", "-c", str(file)])
    assert commands.config_of(options).stop_offsets == {"logs": {0: 7}}
    options = whole_parser().parse_args(["run", "-c", str(file), "--available-now"])
    assert (commands.config_of(options).stop, commands.config_of(options).stop_offsets) == ("available-now", {})


def test_a_right_configuration_is_ok_and_its_notes_are_reported(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "config", "-c", str(file), "-E", "logging.metrics.period=30s"]) == 0
    note, ok = capsys.readouterr().out.splitlines()
    assert note.startswith("ignored: logging.metrics (-E): each micro-batch is logged when it has landed")
    assert ok == "Config OK"
    assert main(["test", "config", "-c", str(file), "-d", "typo"]) == 0
    assert "-d: logging.selectors: 'typo' matches no component; known: " in capsys.readouterr().out


def test_what_is_in_effect_is_printed_without_secrets(file: Path) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert (
            main(["export", "config", "-c", str(file), "-E", "kafka.username=me", "-E", "kafka.password=s3cret"]) == 0
        )
    kafka = {"hosts": ["a:1"], "topics": ["logs"], "username": "me", "password": "xxxxx"}
    assert yaml.safe_load(printed.getvalue())["kafka"] == kafka


def test_the_schema_that_is_printed_accepts_the_configuration_that_we_ship(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    check_schema(printed)
    shipped = yaml.safe_load(Path(config.__file__).with_name("sink.yml").read_text())
    assert refusals(printed, shipped) == []
    assert refusals(printed, {**shipped, "strat": "latest"})


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    command, option = capsys.readouterr().out.splitlines()
    assert command == option == f"spark-sink {VERSION}"


def test_findings_are_json_for_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "config", "--json", "-c", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "problems": [], "warnings": [], "notes": []}
    file.write_text(SMALL + "kafka.topicz: [logs]\n")
    assert main(["test", "config", "--json", "-c", str(file)]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["file"], problem["line"], problem["option"]) == (str(file), 6, "kafka.topicz")


def test_a_round_of_maintenance_is_json_for_programs(tmp_path: Path) -> None:
    file = tmp_path / "sink.yml"
    file.write_text(SMALL.replace(" /", f" {tmp_path}/"))
    command = [*SINK_PROGRAM, "maintain", "--dry-run", "--json", "-c", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert (ended.returncode, ended.stderr, lines[-1]["tables"]) == (0, "", 0)


def test_completions_and_manual_pages_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    starts = {
        ("completion", "bash"): "_spark_sink()",
        ("manual",): ".TH SPARK\\-SINK 1 ",
        ("manual", "sink.yml"): ".TH SINK.YML 5 ",
    }
    for arguments, text in starts.items():
        assert main(arguments) == 0
        assert text in capsys.readouterr().out


def test_the_configuration_knows_the_columns_of_every_table() -> None:
    assert tuple(names(LINES)) == BUILT_IN


def test_a_reader_that_goes_away_is_no_failure_worth_a_traceback(file: Path) -> None:
    file.write_text(f"{SMALL}table.comment: {'x' * 300_000}\n")
    program = [*SINK_PROGRAM, "export", "config", "-c", str(file)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as exporting:
        assert exporting.stdout is not None
        assert exporting.stderr is not None
        exporting.stdout.close()
        assert exporting.stderr.read() == b""
    assert exporting.returncode == 1
