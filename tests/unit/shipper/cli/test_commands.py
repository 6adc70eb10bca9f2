"""The commands, as a person types them."""

import json
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import pytest
import yaml

from log_shipper import config as config_package
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.cli import commands as cli
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.cli.options import files, load_config
from tests.json_schemas import check_schema, refusals

CONFIG = """\
shipper.inputs:
  - {{type: filestream, id: app, paths: ["{logs}/*.log"]}}
output.file: {{path: "{out}"}}
path.data: {data}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "a.log").write_text("one\ntwo\nno end")
    path = tmp_path / "shipper.yml"
    path.write_text(CONFIG.format(logs=tmp_path, out=tmp_path / "out", data=tmp_path / "data"))
    path.chmod(0o600)
    return path


def test_a_good_configuration_is_ok(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "config", "-c", str(config)]) == 0
    assert capsys.readouterr().out == "Config OK\n"


def test_a_misspelt_option_is_reported_with_its_place_and_the_right_name(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(config.read_text().replace("paths", "pathz"))
    assert main(["test", "config", "-c", str(config)]) == 1
    error = capsys.readouterr().err
    assert f"{config}:2: shipper.inputs[0].pathz" in error
    assert "paths" in error


def test_what_filebeat_ignores_is_a_warning_that_only_strict_refuses(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(config.read_text().replace("shipper.inputs", "filebeat.inputs") + "loging.level: debug\n")
    warning = f"warning: {config}:5: loging: unknown option; did you mean 'logging'?\n"
    assert main(["test", "config", "-c", str(config)]) == 0
    assert capsys.readouterr().out == f"{warning}Config OK\n"
    assert main(["test", "config", "--strict", "-c", str(config)]) == 1
    assert capsys.readouterr().out == f"{warning}not OK: --strict treats warnings as errors\n"


def test_migrate_prints_the_configuration_and_beside_it_the_changes(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text("filebeat.prospectors: []  # none\n")
    assert main(["migrate", str(config)]) == 0
    assert capsys.readouterr() == (
        "filebeat.inputs: []  # none\n",
        f"{config}:1: filebeat.prospectors is renamed to filebeat.inputs\n"
        f"{config}: 1 change; check the result: shipper test config -c FILE\n",
    )
    assert main(["migrate", "--strict", str(config)]) == 0
    assert capsys.readouterr().out == "shipper.inputs: []  # none\n"


def test_the_schema_that_is_printed_accepts_the_configuration_that_we_ship(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    check_schema(printed)
    shipped = yaml.safe_load(Path(config_package.__file__).with_name("shipper.yml").read_text())
    assert refusals(printed, shipped) == []
    assert refusals(printed, {**shipped, "loging.level": "debug"})


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("output.kafka.librdkafka.acks=1", "could lose or reorder lines"),
        ("fields.log=x", "would replace log.offset and log.file.id"),
    ],
)
def test_what_would_fail_at_the_start_fails_the_test_of_the_configuration(
    override: str, expected: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = config.read_text().split("output.file")[0]
    config.write_text(f"{inputs}fields_under_root: true\noutput.kafka: {{hosts: h, topic: t}}\n")
    assert main(["test", "config", "-c", str(config), "-E", override]) == 1
    assert expected in capsys.readouterr().err


def test_once_without_an_input_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "shipper.yml"
    config.write_text(f"shipper.config.inputs.path: none/*.yml\noutput.console: {{}}\npath.data: {tmp_path}/data\n")
    assert main(["test", "config", "-c", str(config)]) == 0
    assert main(["run", "--once", "-c", str(config)]) == 1
    assert "no input is enabled: --once has nothing to read" in capsys.readouterr().err


# What may be nested, so many levels of it, and by what.
DEEP = [
    ("processors: [drop_event: {{when: {0}{{has_fields: [a]}}{1}}}]", "{not: ", "}", 58),
    ("processors: [{0}{{drop_event: ~}}{1}]", "{if: {has_fields: [a]}, then: [", "]}", 30),
    ("fields: {0}1{1}", "{a: ", "}", 63),
    ("fields.{0}b: 1{1}", "a.", "", 62),
]


@pytest.mark.parametrize(("text", "opening", "closing", "most"), DEEP)
@pytest.mark.parametrize("command", [["test", "config", "--explain"], ["export", "config"], ["run", "--once"]])
def test_what_is_deep_is_taken_or_refused_with_its_place(
    command: list[str],
    text: str,
    opening: str,
    closing: str,
    most: int,
    config: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = config.read_text()
    for levels, code in ((most, 0), (most + 1, 1), (300, 1)):
        config.write_text(written + text.format(opening * levels, closing * levels) + "\n")
        assert main([*command, "-c", str(config)]) == code, levels
        error = capsys.readouterr().err
        assert code == 0 or error.startswith(f"{config}:5: is nested deeper than the limit of 64 levels")


def test_a_configuration_that_others_may_write_is_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.chmod(0o666)
    assert main(["test", "config", "-c", str(config)]) == 1
    assert str(config) in capsys.readouterr().err
    assert main(["test", "config", "-c", str(config), "--strict.perms", "false"]) == 0


def test_of_several_configurations_the_later_ones_win(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = config.with_name("more.yml")
    more.write_text(f"output.file.filename: other\npath.data: {config.parent / 'elsewhere'}\n")
    more.chmod(0o600)
    assert main(["run", "-c", str(config), "-c", str(more), "--once"]) == 0
    assert len((config.parent / "out" / "other").read_text().splitlines()) == 3
    assert (config.parent / "elsewhere").is_dir()


def test_paths_can_be_given_as_filebeat_takes_them(config: Path) -> None:
    folder = config.parent / "etc"
    folder.mkdir()
    (folder / "more.yml").write_text(f"- {{type: filestream, id: b, paths: ['{config.parent}/b.log']}}\n")
    (config.parent / "b.log").write_text("of b\n")
    with config.open("a") as file:
        file.write("filebeat.config.inputs.path: '*.yml'\n")
    assert main(["run", "-c", str(config), "--once", "--path.config", str(folder), "--path.home", "/"]) == 0
    assert "of b" in (config.parent / "out" / "shipper").read_text()


def test_without_a_command_it_runs_with_the_file_below_the_path_that_is_given(config: Path) -> None:
    folder = config.parent
    assert main(["-path.config", str(folder), "-c", "shipper.yml", "-e", "-once"]) == 0
    assert (folder / "out" / "shipper").read_text().count("\n") == 3


@pytest.mark.parametrize("names", [("filebeat.yml",), ("shipper.yml",), ("shipper.yml", "filebeat.yml")])
def test_a_filebeat_yml_is_the_second_default(names: tuple[str, ...], config: Path) -> None:
    text = config.read_text()
    config.unlink()
    for name in names:
        (config.parent / name).write_text(text)
    assert files(cli.parse(["--path.config", str(config.parent)])) == [config.parent / names[0]]


def test_without_any_file_the_message_names_the_first_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--path.config", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path}/shipper.yml: cannot be read: No such file")


@pytest.mark.parametrize(
    ("typed", "level"),
    [([], "warning"), (["-v"], "info"), (["-d", "*"], "debug"), (["-d", "x", "-E", "logging.level=error"], "error")],
)
def test_v_and_d_set_the_level(typed: list[str], level: str, config: Path) -> None:
    with config.open("a") as file:
        file.write("logging.level: warning\n")
    assert load_config(cli.parse(["run", "-c", str(config), *typed])).logging.level == level


def test_what_is_wrong_with_an_option_of_the_command_line_names_it(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with config.open("a") as file:
        file.write("logging.levels: {x: info}\n")
    assert main(["test", "config", "-c", str(config), "-d", "source,typo", "--path.data", " ", "-E", "name"]) == 1
    assert [line.partition(";")[0].replace(f"{config}", "f") for line in capsys.readouterr().err.splitlines()] == [
        "f:5: logging.levels.x: 'x' is not a component",
        "--path.data: path.data: is empty",
        "-E: 'name' must be key=value, as in name=web-1",
    ]
    config.write_text(config.read_text().replace("logging.levels: {x: info}", ""))
    assert main(["test", "config", "-c", str(config), "-d", "source,typo"]) == 0
    assert capsys.readouterr().out.startswith("warning: -d: logging.selectors: 'typo' matches no component; known: ")


@pytest.mark.parametrize(
    ("typed", "environ", "strict"),
    [
        ([], {}, True),
        ([], {"BEAT_STRICT_PERMS": "false"}, False),
        (["--strict.perms=false"], {}, False),
        (["--strict.perms"], {"BEAT_STRICT_PERMS": "false"}, True),
    ],
)
def test_files_that_others_may_write_are_refused_unless_it_is_said_so(
    typed: list[str], environ: dict[str, str], strict: bool, config: Path
) -> None:
    config.chmod(0o666)
    options = cli.parse(["test", "config", "-c", str(config), *typed], environ)
    with pytest.raises(ConfigError, match="is writable by other users") if strict else nullcontext():
        load_config(options)


def test_what_is_not_supported_is_a_usage_error_that_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--modules=nginx", "-e"])
    assert caught.value.code == 2
    assert "error: --modules=nginx: modules are not supported: use an input with paths" in capsys.readouterr().err


def test_files_of_inputs_that_others_may_write_are_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = config.with_name("inputs.yaml")
    inputs.write_text("- {type: filestream, id: b, paths: [/x]}\n")
    inputs.chmod(0o666)
    with config.open("a") as file:
        file.write("filebeat.config.inputs.path: '*.yaml'\n")
    assert main(["test", "config", "-c", str(config)]) == 1
    assert f"{inputs}: is writable by other users" in capsys.readouterr().err
    assert main(["test", "config", "-c", str(config), "--strict.perms", "false"]) == 0


def test_a_replay_exits_0_and_the_registry_lists_the_position(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-c", str(config), "--once"]) == 0
    records = (config.parent / "out" / "shipper").read_text().splitlines()
    assert [json.loads(record)["message"] for record in records] == ["one", "two", "no end"]
    capsys.readouterr()
    assert main(["registry", "list", "-c", str(config), "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)
    assert (entry["path"], entry["position"], entry["behind"]) == (str(config.parent / "a.log"), 14, 0)
    assert main(["registry", "list", "-c", str(config)]) == 0
    assert str(config.parent / "a.log") in capsys.readouterr().out


def test_a_second_replay_sends_nothing_again(config: Path) -> None:
    assert main(["run", "-c", str(config), "--once"]) == 0
    assert main(["run", "-c", str(config), "--once"]) == 0
    assert len((config.parent / "out" / "shipper").read_text().splitlines()) == 3


def test_a_registry_that_does_not_exist_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["registry", "list", "-c", str(tmp_path / "none.yml"), "--path.data", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"no files: the shipper has not run yet ({tmp_path}/registry is missing)\n")
    (tmp_path / "registry").mkdir()
    assert main(["registry", "list", "-c", str(tmp_path / "none.yml"), "--path.data", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"no files in {tmp_path}/registry\n")


@pytest.mark.parametrize(
    "command",
    [
        ["registry", "list"],
        ["registry", "list", "--json"],
        ["registry", "show", "x"],
        ["registry", "forget", "x"],
        ["dead-letter", "list"],
        ["dead-letter", "list", "--json"],
        ["dead-letter", "show", "x"],
        ["dead-letter", "resend"],
    ],
)
def test_a_data_path_that_does_not_exist_is_an_error(
    command: list[str], config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = config.parent / "data"
    for words in ("does not exist", "is not a directory"):
        assert main([*command, "-c", str(config)]) == 1
        assert capsys.readouterr() == (
            "",
            f"path.data {data} {words}: no shipper has run with this directory. Give the configuration of the "
            "running shipper (-c FILE), or its data directory (--path.data DIR)\n",
        )
        data.touch()
    assert data.is_file()


def test_a_replay_that_takes_too_long_exits_1(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-c", str(config), "--once", "--once-timeout", "0s"]) == 1
    assert "not finished: --once-timeout (0 s) expired, and not all files were scanned; run it again" in (
        capsys.readouterr().err
    )


def test_a_directory_that_cannot_be_written_is_reported(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "output", "-c", str(config)]) == 0
    assert "OK" in capsys.readouterr().out


def test_a_missing_broker_is_reported_step_by_step(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = config.read_text().split("output.file")[0]
    config.write_text(f"{inputs}output.kafka: {{hosts: ['127.0.0.1:1'], topic: t}}\n")
    assert main(["test", "output", "-c", str(config)]) == 1
    out = capsys.readouterr().out
    assert "resolve to 127.0.0.1... OK" in out
    assert "connect... ERROR" in out


def test_a_program_gets_the_findings_as_json(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "config", "--json", "-c", str(config)]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "problems": [], "warnings": [], "notes": []}
    config.write_text("filebeat.inputs: [{type: log, paths: [/x]}]\nsetup.kibana: {}\nwhat: 1\noutput.console: {}\n")
    assert main(["test", "config", "--json", "-c", str(config)]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert ("what" in findings["warnings"][0], "setup" in findings["notes"][0]) == (True, True)
    assert main(["test", "config", "--json", "--strict", "-c", str(config)]) == 1
    capsys.readouterr()
    config.write_text("shipper.inputs: [{type: log, paths: [/x]}]\nwhat: 1\noutput.console: {}\n")
    assert main(["test", "config", "--json", "-c", str(config)]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem.pop("message").startswith("unknown option")
    assert problem == {"file": str(config), "line": 2, "option": "what"}


@pytest.mark.parametrize("command", [["tap"], ["test", "config"], ["registry", "list"]])
def test_the_help_of_a_command_has_its_own_options_and_one_line_of_the_others(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    text = capsys.readouterr().out
    usage, _, options = text.partition("\n\n")
    assert "--path.data" not in usage
    *_, last = options.splitlines()
    assert options.count("--path.data") == 1
    assert last.startswith("as every command: -c, -E, -e,")
    with pytest.raises(SystemExit):
        main([*command, "-c"])
    usage = capsys.readouterr().err
    assert ("expected one argument" in usage, "--path.data" in usage) == (True, False)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "-c FILE" in capsys.readouterr().out.partition("options of all commands:")[2]


@pytest.mark.parametrize(
    ("page", "part"), [([], ".SS shipper registry show"), (["shipper.yml"], "\\fBshipper.inputs\\fR")]
)
def test_the_manual_is_printed(page: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manual", *page]) == 0
    text = capsys.readouterr().out
    assert text.startswith(".TH SHIPPER")
    assert part in text


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("shipper ")


@pytest.mark.parametrize("command", ["schema", "export config"])
def test_a_full_disk_below_standard_output_is_reported_as_such(
    command: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-c", str(config)] if command != "schema" else []
    with open("/dev/full", "w", encoding="utf-8") as full, redirect_stdout(full):
        assert main([*command.split(), *options]) == 1
    assert capsys.readouterr().err == "standard output: No space left on device\n"
