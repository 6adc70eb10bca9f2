"""However rotation names a file, what was shipped of it is not shipped again, and what was added to it is."""

import gzip

import pytest

from tests.lab import Lab

NAMES = [
    "app.log.1",
    "app.log-20261121",
    "app.log.2026-11-21.3",
    "app.1.log",
    "app-20261121.log",
    "app_2026-11-21.log",
    "app.2026-11-21.0.log",
    "app-2026-11-21-1.log",
    "old/app-2026-11-21-1.log",
    "old/app.1.log",
    "2026-11-21/app.log",
]


def compress(lab: Lab, name: str) -> None:
    """As Logback does it: the time of the original is not kept."""
    path = lab.logs / f"{name}.gz"
    path.write_bytes(gzip.compress((lab.logs / "app.log").read_bytes()))
    lab.keep(path)
    lab.remove("app.log")


def copy_and_truncate(lab: Lab, name: str) -> None:
    lab.copytruncate("app.log", name)


def rename(lab: Lab, name: str) -> None:
    lab.rotate("app.log", name)


@pytest.mark.parametrize("rotate", [compress, copy_and_truncate, rename])
@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_rotated_while_the_agent_was_down_resumes_where_it_was(
    lab: Lab, name: str, rotate: object
) -> None:
    for directory in ("old", "2026-11-21"):
        (lab.logs / directory).mkdir()
    lab.paths = (f"{lab.logs}/*.log*", f"{lab.logs}/*/*.log*")
    lab.input["compression"] = "auto"
    lab.ship("app.log", "one", "two")
    lab.stop()
    lab.append("app.log", "three\n")
    assert callable(rotate)
    rotate(lab, name)
    lab.append("app.log", "four\n")
    lab.start()
    lab.scan()
    assert sorted(lab.messages) == ["four", "one", "three", "two"]
    assert len(lab.file_ids) == 2
