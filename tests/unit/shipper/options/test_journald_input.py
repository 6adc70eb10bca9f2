"""The options of the input journald."""

import pytest

from log_shipper.shipper.inputs.journald.options import SYSTEM_JOURNAL, JournaldConfig
from tests.config_lab import ConfigLab
from tests.tables import rows


def load(lab: ConfigLab, options: str, type: str = "journald") -> JournaldConfig:
    (config,) = lab.load(f"filebeat.inputs: [{{type: {type}, {options}}}]\noutput.console:\n").inputs
    assert isinstance(config, JournaldConfig)
    return config


def problems(lab: ConfigLab, options: str) -> list[str]:
    return lab.problems(f"shipper.inputs: [{{type: journald, {options}}}]\noutput.console:\n")


def test_the_simplest_reads_the_hosts_own_journal(lab: ConfigLab) -> None:
    config = load(lab, "enabled: true")
    assert (config.reads, config.begins, config.matches) == ((SYSTEM_JOURNAL,), "head", ())
    assert config.id.startswith("journald-")


def test_where_to_begin_is_read(lab: ConfigLab) -> None:
    assert load(lab, "seek: since, since: -1h30m").since_ago == 5400.0
    assert load(lab, "seek: cursor, cursor_seek_fallback: tail").begins == "tail"


@pytest.mark.parametrize(
    ("matches", "groups"),
    [
        ("match: [A=1, A=2, B=1]", ["A=1 A=2 B=1"]),
        ("match: [A=1, +, B=1]", ["A=1", "B=1"]),
        ("equals: [journald.process.name=x]", ["_COMM=x"]),
        ("match: [syslog.facility=3, log.syslog.facility.code=4]", ["SYSLOG_FACILITY=3 SYSLOG_FACILITY=4"]),
        ("match: [syslog.identifier=a, +, syslog.priority=3]", ["SYSLOG_IDENTIFIER=a", "PRIORITY=3"]),
        ("or: [{equals: [syslog.pid=1]}, {match: [container.id_truncated=c]}]", ["SYSLOG_PID=1", "CONTAINER_ID=c"]),
        ("and: [{match: [container.log.tag=t]}]", ["CONTAINER_TAG=t"]),
        ("match: [container.partial=true, FIELD=]", ["CONTAINER_PARTIAL_MESSAGE=true FIELD="]),
        ("or: [{match: [A=1]}, {match: [B=1, C=1]}]", ["A=1", "B=1 C=1"]),
        ("and: [{match: [A=1]}, {match: [B=1]}]", ["A=1 B=1"]),
        ("and: [{or: [{match: [A=1]}, {match: [B=1]}]}, {match: [C=1]}]", ["A=1 C=1", "B=1 C=1"]),
        ("match: [C=1], or: [{match: [A=1]}]", ["A=1", "C=1"]),
    ],
)
def test_matches_become_the_groups_of_journalctl(lab: ConfigLab, matches: str, groups: list[str]) -> None:
    config = load(lab, f"include_matches: {{{matches}}}")
    assert [" ".join(f"{name}={value}" for name, value in group) for group in config.matches] == groups


def test_the_older_form_of_matches_is_a_list(lab: ConfigLab) -> None:
    old = "filebeat.inputs: [{type: journald, include_matches: [A=1, B=2]}]\noutput.console:\n"
    config = lab.load(old)
    assert isinstance(config.inputs[0], JournaldConfig)
    assert config.inputs[0].matches == ((("A", "1"), ("B", "2")),)
    assert config.warnings[0].endswith("include_matches: an old form, now include_matches.match")


@pytest.mark.parametrize(
    ("options", "problem"),
    rows("""
        since: 24h, seek: since -> since: '24h' must be a duration with a minus sign, such as -24h (24
            hours before now)
        seek: since -> since: missing; seek: since needs it, for example since: -24h
        facilities: [24] -> facilities[0]: 24 is not a facility code (0 to 23)
        include_matches.match: [nginx] -> include_matches.match[0]: 'nginx' must be FIELD=value, such as
            _SYSTEMD_UNIT=nginx.service, or + for OR
        include_matches.and: [{match: [A=1]}, {match: [A=2]}]
            -> include_matches.and: matches one field against two values, which journalctl combines with OR; use 'or'
        kernel: true, units: [nginx.service] -> kernel: kernel messages belong to no unit, so none
            would be read with units; read them with another input that has kernel: true only
        chroot: host -> chroot: 'host' must be an absolute path
        chroot: /host, journalctl_path: bin/j -> journalctl_path: must be an absolute path below chroot
    """),
)
def test_a_mistake_is_named(lab: ConfigLab, options: str, problem: str) -> None:
    assert [problem_found.partition("inputs[0].")[2] for problem_found in problems(lab, options)] == [problem]


@pytest.mark.parametrize("name", ["syslog.severity", "priority", "__REALTIME_TIMESTAMP", "/usr/bin/x", "A B"])
@pytest.mark.parametrize(
    ("matches", "place"),
    [
        ("match: ['{name}=3']", "match[0]"),
        ("and: [{{match: ['{name}=3']}}]", "and[0].match[0]"),
        ("or: [{{match: [A=1]}}, {{equals: [B=1, '{name}=3']}}]", "or[1].equals[1]"),
    ],
)
def test_a_match_that_journalctl_refuses_is_a_mistake(lab: ConfigLab, matches: str, place: str, name: str) -> None:
    (problem,) = problems(lab, f"include_matches: {{{matches.format(name=name)}}}")
    assert f"inputs[0].include_matches.{place}: unknown field '{name}'" in problem
