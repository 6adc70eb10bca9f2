import pytest

from log_shipper.shipper.options.logs import COMPONENTS, LoggingConfig
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import SinkLoggingConfig
from tests.config_lab import ConfigLab

SINK = "kafka: {hosts: [a:9092], topics: [logs]}\ntable.path: /t\ncheckpoint.path: /c\n"


def logging_of(lab: ConfigLab, options: str) -> LoggingConfig:
    return lab.load_with(f"logging: {{{options}}}\n").logging


def test_components_have_levels_of_their_own(lab: ConfigLab) -> None:
    config = logging_of(lab, "level: warning, levels: {source: debug, output: INFO}")
    assert (config.level, config.levels) == ("warning", {"source": "debug", "output": "info"})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("levels: {harvester: debug}", "levels.harvester: 'harvester' is not a component; known: source, reader, "),
        ("levels: {source: loud}", "levels.source: 'loud' must be one of: debug, info, warning, error, critical"),
        ("levels: {source: 7}", "levels.source: 7 must be one of: debug"),
    ],
)
def test_an_unknown_component_or_level_is_a_mistake(options: str, problem: str, lab: ConfigLab) -> None:
    (message,) = lab.problems_with(f"logging: {{{options}}}\n")
    assert f"logging.{problem}" in message


@pytest.mark.parametrize("option", ["path.logs", "logging.files.path"])
def test_a_directory_with_a_nul_is_refused_and_an_empty_one_is_the_default(lab: ConfigLab, option: str) -> None:
    assert lab.problems_with(f'{option}: "a\\0b"\n') == [f"shipper.yml:5: {option}: 'a\\x00b' contains a NUL character"]
    lab.load_with(f"{option}: ''\n")


DEBUG = "level: debug, selectors: "


@pytest.mark.parametrize(
    ("options", "level", "debugged"),
    [
        (DEBUG + "[harvester, publish]", "info", {"source", "pipeline"}),
        (DEBUG + "[input.filestream, Registrar]", "info", {"source", "registry"}),
        (DEBUG + "'kafka, processors'", "info", {"output", "kafka", "processor"}),
        (DEBUG + "[reader, cfgfile, monitoring]", "info", {"reader", "reload", "monitor"}),
        (DEBUG + "['*']", "debug", set(COMPONENTS)),
        (DEBUG + "[]", "debug", set()),
        ("level: info, selectors: [harvester]", "info", set()),
        (DEBUG + "[esclientleg]", "info", set()),
    ],
)
def test_selectors_choose_what_is_logged_from_debug_on(
    options: str, level: str, debugged: set[str], lab: ConfigLab
) -> None:
    config = logging_of(lab, options)
    assert (config.level, config.levels) == (level, dict.fromkeys(debugged, "debug"))


def test_a_level_of_a_component_wins_over_selectors(lab: ConfigLab) -> None:
    config = logging_of(lab, DEBUG + "['*'], levels: {kafka: error, source: warning}")
    assert (config.levels["kafka"], config.levels["source"], config.levels["output"]) == ("error", "warning", "debug")


def test_a_selector_without_an_equivalent_is_a_warning(lab: ConfigLab) -> None:
    (warning,) = lab.load_with("logging: {level: debug, selectors: [harvester, esclientleg]}\n").warnings
    assert "logging.selectors: 'esclientleg' matches no component; known: source, reader, " in warning


def test_the_sink_has_components_of_its_own(lab: ConfigLab) -> None:
    def read(options: str) -> SinkConfig:
        return lab.load(f"{SINK}logging: {{{options}}}\n", SinkConfig)

    assert read("levels: {views: debug}").logging.levels == {"views": "debug"}
    config = read("level: debug, selectors: [views, harvester]")
    assert (config.logging.level, config.logging.levels) == ("info", {"views": "debug"})
    (warning,) = config.warnings
    assert f"'harvester' matches no component; known: {', '.join(SinkLoggingConfig.components)}" in warning
