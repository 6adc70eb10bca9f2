"""What the shipper relies on of journalctl: the fake one keeps it, and the real one with a real journald."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.inputs.journald.arguments import command
from log_shipper.shipper.inputs.journald.entries import EntryDecoder, JournalEntry
from log_shipper.shipper.inputs.journald.options import JournaldConfig, MatchesConfig
from tests.fake_journalctl import Journal, installed
from tests.real_journald import JOURNALD, RealJournal

OURS = "contract"
AnyJournal = Any  # Journal | RealJournal: a list is bytes to one, and a field given several times to the other


class Installation:
    def __init__(self, journal: Journal | RealJournal, program: str) -> None:
        self.journal = journal
        self.program = program

    def log(self, *messages: Any, **fields: Any) -> None:
        self.journal.log(*messages, **{"SYSLOG_IDENTIFIER": OURS, **fields})

    def command(self, start: str = "", *, follow: bool = False, path: str = "", **options: Any) -> list[str]:
        config = JournaldConfig(journalctl_path=self.program, **options)
        return command(config, path or str(self.journal.directory), start, follow=follow)

    def entries(self, start: str = "", **options: Any) -> list[JournalEntry]:
        """Return the entries of the test; journald has some of its own."""
        answer = subprocess.run(self.command(start, **options), capture_output=True, check=True)
        return ours(answer.stdout.splitlines())

    def texts(self, start: str = "", **options: Any) -> list[str]:
        return [entry.text for entry in self.entries(start, **options)]

    def wait_until(self, count: int) -> list[JournalEntry]:
        """Return the first entries, once there are so many: journald takes them in when it gets to it."""
        while len(entries := self.entries()) < count:
            pass
        return entries


def ours(lines: list[bytes]) -> list[JournalEntry]:
    entries = EntryDecoder("test", 1000, Throttle()).entries(lines)
    return [entry for entry in entries if entry.fields.get("SYSLOG_IDENTIFIER") == OURS]


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.slow("starts a journald in a namespace"))])
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    if request.param == "fake":
        yield Installation(Journal(tmp_path / "journal"), str(installed(tmp_path)))
        return
    if JOURNALD is None:
        pytest.skip("systemd is not installed")
    journal = RealJournal()
    yield Installation(journal, str(journal.program))
    journal.close()


def test_entries_are_in_order_and_have_cursor_time_and_message(installation: Installation) -> None:
    installation.log("one", "two", "three")
    entries = installation.wait_until(3)
    assert [entry.text for entry in entries] == ["one", "two", "three"]
    numbers, times = [entry.number for entry in entries], [entry.time for entry in entries]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]
    assert times == sorted(times)
    assert len({entry.key for entry in entries}) == 1


def test_a_cursor_begins_with_its_own_entry(installation: Installation) -> None:
    installation.log("one", "two", "three")
    assert installation.texts(installation.wait_until(3)[1].cursor) == ["two", "three"]


def test_the_cursor_of_a_deleted_entry_begins_with_the_next_one(installation: Installation) -> None:
    installation.log("one", "two")
    cursor = installation.wait_until(2)[0].cursor
    installation.journal.rotate()
    installation.log("three")
    installation.wait_until(3)
    installation.journal.vacuum()
    assert installation.texts(cursor) == ["three"]


def test_a_time_begins_with_the_first_entry_behind_it(installation: Installation) -> None:
    installation.log("one", "two")
    second = installation.wait_until(2)[1].time
    assert installation.texts(f"@{second / 1e6:.6f}") == ["two"]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"include_matches": MatchesConfig(match=("FOO=a",))}, ["one", "two"]),
        ({"include_matches": MatchesConfig(match=("FOO=a", "BAR=x"))}, ["two"]),
        ({"include_matches": MatchesConfig(match=("FOO=a", "FOO=b"))}, ["one", "two", "three"]),
        ({"include_matches": MatchesConfig(match=("BAR=x", "+", "FOO=b"))}, ["two", "three"]),
        ({"syslog_identifiers": ("other",)}, []),
    ],
)
def test_matches_choose_entries(installation: Installation, options: dict[str, Any], texts: list[str]) -> None:
    installation.log("one", FOO="a")
    installation.log("two", FOO="a", BAR="x")
    installation.log("three", FOO="b")
    installation.log("four", SYSLOG_IDENTIFIER="other")
    installation.wait_until(3)
    assert installation.texts(**options) == texts


def test_one_that_follows_gives_new_entries_after_a_rotation_too(installation: Installation) -> None:
    installation.log("one")
    installation.wait_until(1)
    with subprocess.Popen(installation.command(follow=True), stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        read: list[str] = []
        for text in ("one", "two", "three"):
            while read[-1:] != [text]:
                read += [entry.text for entry in ours([following.stdout.readline()])]
            installation.journal.rotate()
            installation.log({"one": "two", "two": "three", "three": "four"}[text])
        following.kill()
    assert read == ["one", "two", "three"]


def test_a_journal_that_is_not_there_is_an_error_in_words(installation: Installation) -> None:
    command = installation.command(path=f"{installation.journal.directory}/missing.journal")
    answer = subprocess.run(command, capture_output=True, check=False)
    assert answer.returncode != 0
    assert answer.stderr.startswith(b"Failed to open")


def test_a_pattern_that_no_unit_matches_is_an_error_in_words(installation: Installation) -> None:
    installation.log("one")
    installation.wait_until(1)
    command = installation.command(units=("no-such-unit*",))
    answer = subprocess.run(command, capture_output=True, check=False, env={"LC_ALL": "C"})
    assert answer.returncode == 1
    assert answer.stderr == b"Failed to add filter for units: No data available\n"


@pytest.mark.slow("starts a journald in a namespace")
def test_the_real_one_writes_what_is_no_text_as_lists() -> None:
    if JOURNALD is None:
        pytest.skip("systemd is not installed")
    journal = RealJournal()
    installation = Installation(journal, str(journal.program))
    installation.log(b"\x00\xff")
    installation.log("many", FIELD=["a", "b"])
    installation.log("lines\nof text", LARGE="x" * 100_000)
    binary, several, large = installation.wait_until(3)
    journal.close()
    assert binary.text == "\x00\ufffd"
    assert sorted(several.fields["FIELD"]) == ["a", "b"]
    assert (large.text, len(large.fields["LARGE"])) == ("lines\nof text", 100_000)
