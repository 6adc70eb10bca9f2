"""Files of the journal that may not be read are a problem, because journalctl leaves them out in silence."""

from pathlib import Path
from typing import Any

import pytest

from config.shipper.feeds.journald import JournaldConfig
from shipper.source.feeds.journald.rights import INTERVAL, Rights, may_read
from tests.fakes import ManualClock

MACHINE = "a6a19d57efcf4bf38705c63217a63ba3"


class Unreadable(set[Path]):
    """The files that may not be read. Whoever runs the tests may read all."""

    def allows(self, path: str) -> bool:
        return Path(path) not in self


def files(directory: Path, *names: str) -> list[Path]:
    paths = [directory / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths


def problem(unreadable: list[Path], path: str, **options: Any) -> str:
    rights = Rights(JournaldConfig(**options), path, "journal x", ManualClock(), Unreadable(unreadable).allows)
    rights.step()
    return rights.problem


def test_files_in_a_directory_and_in_those_of_machines_are_counted(tmp_path: Path) -> None:
    names = ("system.journal", f"{MACHINE}/user-1.journal", f"{MACHINE}/user-2.journal~", "other/a.journal", "notes")
    assert problem(files(tmp_path, *names)[1:], str(tmp_path)).startswith(
        f"2 of 3 files of the journal may not be read by the shipper's user (as {tmp_path}/{MACHINE}/user-1.journal)"
    )


def test_files_of_a_pattern_are_looked_at(tmp_path: Path) -> None:
    unreadable = files(tmp_path, "a.journal", "b.journal", "c.other")
    assert problem(unreadable, f"{tmp_path}/*.journal").startswith("2 of 2 files")


def test_the_systems_journal_is_that_of_this_machine(tmp_path: Path) -> None:
    (identity,) = files(tmp_path, "etc/machine-id")
    identity.write_text(f"{MACHINE}\n")
    unreadable = files(tmp_path / "var/log/journal", f"{MACHINE}/a.journal", f"{MACHINE}.other/b.journal")
    assert problem(unreadable, "LOCAL_SYSTEM_JOURNAL", chroot=str(tmp_path)).startswith("1 of 1 files")


def test_what_is_not_there_is_journalctls_to_report(tmp_path: Path) -> None:
    assert not problem([], f"{tmp_path}/none")
    assert not problem([], "LOCAL_SYSTEM_JOURNAL", chroot=str(tmp_path))


def test_another_program_may_have_rights_of_its_own(tmp_path: Path) -> None:
    assert not problem(files(tmp_path, "a.journal"), str(tmp_path), journalctl_path="/usr/local/bin/as_root")


def test_it_is_looked_again_and_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock, unreadable = ManualClock(), Unreadable()
    rights = Rights(JournaldConfig(), str(tmp_path), "journal x", clock, unreadable.allows)
    rights.step()
    unreadable.update(files(tmp_path, "a.journal"))
    rights.step()
    assert not rights.problem
    for _ in range(2):
        clock.advance(INTERVAL)
        rights.step()
        assert rights.problem.startswith("1 of 1 files of the journal may not be read")
    unreadable.clear()
    clock.advance(INTERVAL)
    rights.step()
    assert not rights.problem
    assert [record.getMessage()[:30] for record in caplog.records] == [
        "journal x: 1 of 1 files of the",
        "journal x: all files of the jo",
    ]


def test_a_file_that_was_deleted_meanwhile_is_no_problem(tmp_path: Path) -> None:
    assert may_read(f"{tmp_path}/a.journal")
