"""The options of the input, as those of journalctl."""

from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.inputs.journald.arguments import command
from log_shipper.shipper.inputs.journald.options import JournaldConfig, MatchesConfig

FIXED = ["journalctl", "--output=json", "--no-pager", "--all", "--no-tail", "--boot=all"]

TWO = MatchesConfig(match=("A=1", "+", "systemd.unit=b", "C=x=y"))


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, []),
        ({"merge": True}, ["--merge"]),
        ({"units": ("a", "b")}, ["--unit=a", "--unit=b"]),
        ({"syslog_identifiers": ("a",)}, ["--identifier=a"]),
        ({"transports": ("kernel", "audit")}, ["_TRANSPORT=kernel", "_TRANSPORT=audit"]),
        ({"kernel": True}, ["_TRANSPORT=kernel"]),
        ({"kernel": True, "transports": ("audit", "kernel")}, ["_TRANSPORT=audit", "_TRANSPORT=kernel"]),
        ({"facilities": (0, 23)}, ["SYSLOG_FACILITY=0", "SYSLOG_FACILITY=23"]),
        (
            {
                "transports": ("kernel",),
                "include_matches": MatchesConfig(match=("A=1", "+", "systemd.unit=b", "C=x=y")),
            },
            ["A=1", "_TRANSPORT=kernel", "+", "_SYSTEMD_UNIT=b", "C=x=y", "_TRANSPORT=kernel"],
        ),
    ],
)
def test_each_option_has_its_argument(options: dict[str, Any], more: list[str]) -> None:
    assert command(JournaldConfig(**options), "LOCAL_SYSTEM_JOURNAL", "", follow=False) == FIXED + more


def test_where_to_begin_and_what_to_read_is_given(tmp_path: Path) -> None:
    config = JournaldConfig(chroot=str(tmp_path))
    (tmp_path / "journals").mkdir()
    program = ["/usr/bin/journalctl", *FIXED[1:], "--follow"]
    assert command(config, "/journals", "s=1;i=2", follow=True) == [
        *program,
        "--merge",
        "--directory=/journals",
        "--cursor=s=1;i=2",
    ]
    assert command(config, "/journals", "", files=["/j/a.journal", "/j/[b].journal"]) == [
        *program[:-1],
        "--merge",
        "--file=/j/a.journal",
        "--file=/j/[[]b].journal",
    ]
    assert command(config, "/j/*.journal", "@5.0", follow=True) == [
        *program,
        "--merge",
        "--file=/j/*.journal",
        "--since=@5.0",
    ]
