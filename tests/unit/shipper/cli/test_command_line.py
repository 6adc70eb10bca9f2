"""Command lines from Filebeat's own manifests, unit files and documentation."""

import pytest

from log_shipper.shipper.cli.command_line import NotSupported, normalized

COMMANDS = ("run", "test", "export", "registry", "version", "help")


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("", "run"),
        ("-c /etc/filebeat.yml -e", "run -c /etc/filebeat.yml -e"),
        ("-e -E http.enabled=true", "run -e -E http.enabled=true"),
        ("-ec f.yml", "run -ec f.yml"),
        ("-c=f.yml --E a=b", "run -cf.yml -E a=b"),
        ("-e -strict.perms=false", "run -e --strict.perms=false"),
        ("--strict.perms -c f.yml", "run --strict.perms=true -c f.yml"),
        ("-strict.perms false test config", "test config --strict.perms=false"),
        ("-path.home /usr/share/filebeat -path.data=/d", "run --path.home /usr/share/filebeat --path.data=/d"),
        (
            "--environment systemd -c /etc/filebeat/filebeat.yml --path.home /usr/share/filebeat --path.data /data",
            "run --environment systemd -c /etc/filebeat/filebeat.yml --path.home /usr/share/filebeat --path.data /data",
        ),
        ("-d * -v -once", "run -d * -v --once"),
        ("run -once -c f.yml", "run --once -c f.yml"),
        ("-c f.yml test config -e", "test config -c f.yml -e"),
        ("registry forget a.log -c f.yml", "registry forget a.log -c f.yml"),
        ("-c a.yml registry forget a.log b.log -c b.yml", "registry forget a.log b.log -c a.yml -c b.yml"),
        ("--version", "version"),
        ("-version", "version"),
        ("help", "--help"),
        ("help test config", "test config --help"),
        ("-h", "-h"),
        ("--help", "--help"),
        ("test --help", "test --help"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_command_line_of_filebeat_is_one_of_ours(typed: str, parsed: str) -> None:
    assert normalized(typed.split(), COMMANDS) == parsed.split()


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("setup -e", "setup: it loads templates and dashboards"),
        ("modules list", "modules: modules are not supported: use an input with paths"),
        ("-e --modules=nginx,system", "--modules=nginx,system: modules are not supported"),
        ("-M a=b", "-M: modules are not supported"),
        ("-e -N", "-N: not supported: `shipper test pipeline`"),
        ("-cpuprofile x", "-cpuprofile: not supported: inspect the running process with py-spy"),
    ],
)
def test_what_filebeat_has_and_we_do_not_is_refused_with_what_to_do(typed: str, advice: str) -> None:
    with pytest.raises(NotSupported) as caught:
        normalized(typed.split(), COMMANDS)
    assert str(caught.value).startswith(advice)


def test_a_command_that_exists_here_is_taken_though_it_did_not_once() -> None:
    assert normalized(["setup"], [*COMMANDS, "setup"]) == ["setup"]
