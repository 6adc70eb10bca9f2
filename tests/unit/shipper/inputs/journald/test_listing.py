"""The files of a journal by their sequences; those that cannot be read are a problem, because journalctl may leave them
out in silence."""

from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.inputs.journald.host import ThisHost
from log_shipper.shipper.inputs.journald.listing import MIN_INTERVAL, SETTLING, JournalListing
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from tests.fake_journalctl import ARCHIVED, header
from tests.fakes import ManualClock

MACHINE = "a6a19d57efcf4bf38705c63217a63ba3"
ONE, TWO, THREE = "1" * 32, "2" * 32, "3" * 32


class SomeForbidden(ThisHost):
    """A host of which some files may not be read. Whoever runs the tests may read all."""

    def __init__(self, forbidden: list[Path]) -> None:
        self.forbidden = forbidden
        self.headers_read = 0

    def header(self, path: str) -> tuple[int, int, bytes]:
        if Path(path) in self.forbidden:
            raise PermissionError
        self.headers_read += 1
        return super().header(path)


def files(directory: Path, *names: str, content: bytes = header(ONE, 1)) -> list[Path]:
    paths = [directory / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return paths


def looked(path: str, forbidden: list[Path] | None = None, **options: Any) -> JournalListing:
    listing = JournalListing(
        JournaldConfig(**options), path, "journal x", ManualClock(), SomeForbidden(forbidden or [])
    )
    listing.refresh()
    return listing


def names(listing: JournalListing) -> dict[str, list[str]]:
    """Return the names of the files by the first digit of their sequences."""
    return {
        sequence[0]: sorted(file.path.rpartition("/")[2] for file in files)
        for sequence, files in listing.sequences.items()
    }


def test_files_belong_to_the_sequence_in_their_header(tmp_path: Path) -> None:
    files(tmp_path, "remote-a.journal", content=header(ONE, 7))
    files(tmp_path, "remote-a@1.journal", content=header(ONE, 5, ARCHIVED))
    files(tmp_path, "remote-b.journal", "remote-b@1.journal~", content=header(TWO, 9))
    listing = looked(str(tmp_path))
    assert names(listing) == {
        "1": ["remote-a.journal", "remote-a@1.journal"],
        "2": ["remote-b.journal", "remote-b@1.journal~"],
    }
    known = {
        file.path.rpartition("/")[2]: (file.last, file.is_live)
        for file in (*listing.sequences[ONE], *listing.sequences[TWO])
    }
    assert known == {
        "remote-a.journal": (7, True),
        "remote-a@1.journal": (5, False),
        "remote-b.journal": (9, True),
        "remote-b@1.journal~": (9, False),
    }


def test_a_header_that_does_not_change_any_more_is_read_once(tmp_path: Path) -> None:
    files(tmp_path, "a.journal")
    files(tmp_path, "a@1.journal", content=header(ONE, 1, ARCHIVED))
    host = SomeForbidden([])
    listing = JournalListing(JournaldConfig(), str(tmp_path), "journal x", ManualClock(), host)
    for _ in range(3):
        listing.refresh()
    assert host.headers_read == 4
    assert names(listing) == {"1": ["a.journal", "a@1.journal"]}


def test_users_of_an_older_journald_share_the_numbers_of_its_sequences(tmp_path: Path) -> None:
    files(tmp_path / MACHINE, "system.journal")
    files(tmp_path / MACHINE, "user-1000.journal", content=header(TWO, 1))
    files(tmp_path, "remote-a.journal", content=header(THREE, 1))
    assert looked(str(tmp_path)).sharing == {ONE, TWO}


def test_two_sequences_of_one_journald_without_users_share_nothing(tmp_path: Path) -> None:
    files(tmp_path, "system.journal")
    files(tmp_path, "system@1.journal~", content=header(TWO, 1))
    assert not looked(str(tmp_path)).sharing


def test_files_in_a_directory_and_in_those_of_machines_are_counted(tmp_path: Path) -> None:
    paths = files(
        tmp_path, "a.journal", f"{MACHINE}/user-1.journal", f"{MACHINE}/user-2.journal~", "other/a.journal", "b"
    )
    assert looked(str(tmp_path), paths[1:]).problem.startswith(
        f"2 of 3 journal files are not readable by the shipper's user (for example {tmp_path}/{MACHINE}/user-1.journal)"
    )


def test_files_of_a_pattern_are_looked_at(tmp_path: Path) -> None:
    unreadable = files(tmp_path, "a.journal", "b.journal", "c.other")
    assert looked(f"{tmp_path}/*.journal", unreadable).problem.startswith("2 of 2 journal files are not readable")


@pytest.mark.parametrize(
    ("merge", "expected"), [(False, {"1": ["a.journal"]}), (True, {"1": ["a.journal", "b.journal"]})]
)
def test_the_systems_journal_is_that_of_this_machine_or_of_all(
    tmp_path: Path, merge: bool, expected: dict[str, list[str]]
) -> None:
    (identity,) = files(tmp_path, "etc/machine-id")
    identity.write_text(f"{MACHINE}\n")
    files(tmp_path / "var/log/journal", f"{MACHINE}/a.journal", "remote/b.journal", f"{MACHINE}.other/c.journal")
    assert names(looked("LOCAL_SYSTEM_JOURNAL", chroot=str(tmp_path), merge=merge)) == expected


def test_paths_are_those_that_journalctl_sees(tmp_path: Path) -> None:
    files(tmp_path, "j/a.journal")
    (file,) = looked("/j", chroot=str(tmp_path)).sequences[ONE]
    assert file.path == "/j/a.journal"


def test_what_is_not_there_is_journalctls_to_report(tmp_path: Path) -> None:
    assert not looked(f"{tmp_path}/none").problem
    assert looked("LOCAL_SYSTEM_JOURNAL", chroot=str(tmp_path)).is_incomplete


def test_another_program_may_have_rights_of_its_own(tmp_path: Path) -> None:
    paths = files(tmp_path, "a.journal", "b.journal")
    listing = looked(str(tmp_path), paths[:1], journalctl_path="/usr/local/bin/as_root")
    assert (listing.problem, listing.is_incomplete) == ("", True)


def test_it_is_looked_again_and_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = ManualClock()
    host = SomeForbidden([])
    listing = JournalListing(JournaldConfig(), str(tmp_path), "journal x", clock, host)
    assert listing.is_due
    listing.refresh()
    assert not listing.is_due
    host.forbidden = files(tmp_path, "a.journal")
    clock.advance(MIN_INTERVAL)
    assert listing.is_due
    for _ in range(2):
        listing.refresh()
        assert listing.problem.startswith("1 of 1 journal files are not readable")
    host.forbidden = []
    listing.refresh()
    assert not listing.problem
    assert [record.getMessage()[:30] for record in caplog.records] == [
        "journal x: 1 of 1 journal file",
        "journal x: all journal files a",
    ]


@pytest.mark.parametrize("content", [b"", b"no journal", b"x" * 1000, header(ONE, 1)[:-1]])
def test_a_file_without_a_whole_header_is_a_problem_unless_it_is_new(tmp_path: Path, content: bytes) -> None:
    (path,) = files(tmp_path, "b.journal", content=content)
    files(tmp_path, "a.journal")
    clock = ManualClock()
    listing = JournalListing(JournaldConfig(), str(tmp_path), "journal x", clock, SomeForbidden([]))
    listing.refresh()
    assert not listing.problem
    clock.advance(SETTLING)
    listing.refresh()
    assert listing.problem.startswith(
        f"1 of 2 journal files are truncated or not in journal format (for example {path})"
    )
    assert names(listing) == {"1": ["a.journal"]}


def test_once_it_is_not_waited_for_a_whole_header(tmp_path: Path) -> None:
    files(tmp_path, "a.journal", content=b"")
    listing = JournalListing(JournaldConfig(), str(tmp_path), "journal x", ManualClock(), SomeForbidden([]))
    listing.refresh(once=True)
    assert listing.problem
