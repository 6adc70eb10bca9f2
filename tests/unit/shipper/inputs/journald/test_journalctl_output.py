"""A program that writes something else than entries, or that ends in a strange way, is a problem that words explain."""

import os
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.journald.journalctl import WITHOUT_ENTRIES
from tests.unit.shipper.inputs.journald.conftest import JournalLab

GARBAGE = "echo no journal here; echo nor here"
NUMBERED = """{"__CURSOR":"s=a;i=%d;b=c;m=2;t=3;x=4","__REALTIME_TIMESTAMP":"%s","MESSAGE":"%s"}"""


def program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "other"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def entry(number: int, text: str, time: str = "1763000000000000") -> str:
    return f"echo '{NUMBERED % (number, time, text)}'"


def problem(lab: JournalLab) -> str:
    (problem,) = lab.feed.status().problems.values()
    return problem


def refused(lab: JournalLab) -> int:
    (journal,) = lab.feed._journals
    return journal.journalctl._refused


def test_what_writes_no_entries_for_a_while_is_a_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(journalctl_path=program(tmp_path, f"{GARBAGE}; exec sleep 60"))
    lab.wait_until(lambda: refused(lab) == 2)
    assert not lab.feed.status().problems
    lab.clock.advance(WITHOUT_ENTRIES)
    lab.wait_until(lambda: bool(lab.feed.status().problems))
    words = "no entry for 10 s, but other lines: b'no journal here'; to see its output, run "
    assert words in problem(lab)
    assert lab.metrics.journal_entries_lost == 0  # they are not even damaged ones


def test_the_problem_is_logged_once_and_ends_with_the_next_entry(
    lab: JournalLab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = tmp_path / "mark"
    script = f"{GARBAGE}; while ! [ -e {mark} ]; do echo more; sleep 0.01; done; {entry(1, 'one')}; exec sleep 60"
    lab.start(journalctl_path=program(tmp_path, script))
    for wanted in (3, 5):
        lab.wait_until(lambda wanted=wanted: refused(lab) >= wanted)  # type: ignore[misc]
        lab.clock.advance(WITHOUT_ENTRIES)
        lab.wait_until(lambda: bool(lab.feed.status().problems))
        assert "b'no journal here'" in problem(lab)
    mark.touch()
    lab.read("one")
    assert not lab.feed.status().problems
    assert sum("has written no entry for" in record.getMessage() for record in caplog.records) == 1


def test_a_line_without_an_end_is_a_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(journalctl_path=program(tmp_path, "exec cat /dev/zero"), message_max_bytes=100)
    (journal,) = lab.feed._journals
    lab.wait_until(lambda: journal.journalctl.lines.is_skipping)
    lab.clock.advance(WITHOUT_ENTRIES)
    lab.wait_until(lambda: bool(lab.feed.status().problems))
    assert "has written no entry for" in problem(lab)


def test_entries_that_wait_for_room_behind_a_refused_line_are_no_problem(lab: JournalLab, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"echo no entry; while ! [ -e {mark} ]; do sleep 0.01; done; {entry(1, 'one')}; exec sleep 60"
    lab.start(journalctl_path=program(tmp_path, script))
    lab.wait_until(lambda: refused(lab) == 1)
    mark.touch()
    (journal,) = lab.feed._journals
    while not journal.journalctl._has_output:
        lab.feed.step()
    lab.clock.advance(WITHOUT_ENTRIES)
    lab.feed.step()
    assert not lab.feed.status().problems
    lab.read("one")


def test_once_what_wrote_no_entries_is_a_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(once=True, journalctl_path=program(tmp_path, GARBAGE))
    lab.wait_until(lambda: lab.feed.finished)
    assert problem(lab).endswith(
        "journalctl wrote 2 lines that are not entries, which were skipped; the first is b'no journal here'"
    )


@pytest.mark.parametrize("rest", ["printf garbage", "printf garbage; echo", "echo '{\"garbage\":1}'"])
def test_once_what_is_left_out_behind_entries_is_a_problem(lab: JournalLab, tmp_path: Path, rest: str) -> None:
    lab.start(once=True, journalctl_path=program(tmp_path, f"{entry(1, 'one')}; {rest}"))
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    lab.acknowledge()
    assert lab.feed.finished
    assert lab.texts == ["one"]
    assert "wrote 1 lines that are not entries, which were skipped; the first is b'" in problem(lab)


def test_once_a_journal_without_entries_is_no_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(once=True, journalctl_path=program(tmp_path, "echo '-- No entries --'"))
    lab.wait_until(lambda: lab.feed.finished)
    assert not lab.feed.status().problems


def test_a_damaged_entry_is_counted_once(lab: JournalLab, tmp_path: Path) -> None:
    """Its number is missing too, and so are others."""
    script = "; ".join((entry(1, "one"), entry(2, "two", "-1"), entry(3, "three"), entry(6, "six")))
    lab.start(journalctl_path=program(tmp_path, f"{script}; exec sleep 60"))
    lab.read("one", "three", "six")
    assert lab.metrics.journal_entries_lost == 3


WORDS = "Journal file /j/a.journal is truncated, ignoring file."
PROBLEM = f"journalctl skips a part of the journal: {WORDS[:-1]}; move that file away, or update journalctl"


def test_a_file_that_journalctl_ignores_is_a_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(journalctl_path=program(tmp_path, f"echo '{WORDS}' >&2; {entry(1, 'one')}; exec sleep 60"))
    lab.read("one")
    lab.wait_until(lambda: bool(lab.feed.status().problems))
    assert problem(lab).startswith(PROBLEM)


def test_once_a_file_that_journalctl_ignores_is_a_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(once=True, journalctl_path=program(tmp_path, f"{entry(1, 'one')}; echo '{WORDS}' >&2"))
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    assert problem(lab).startswith(PROBLEM)


def test_once_a_file_that_journalctl_ignores_is_a_problem_also_where_no_unit_matches(
    lab: JournalLab, tmp_path: Path
) -> None:
    words = "a.journal uses an unsupported feature, ignoring file.\nFailed to add filter for units: No data available"
    lab.start(once=True, units=("web*",), journalctl_path=program(tmp_path, f"echo '{words}' >&2; exit 1"))
    lab.wait_until(lambda: lab.feed.finished)
    assert any("ignoring file" in words for words in lab.feed.status().problems.values())


def test_a_file_that_is_ignored_is_logged_also_right_after_other_words(
    lab: JournalLab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = tmp_path / "mark"
    script = f"echo welcome >&2; while ! [ -e {mark} ]; do sleep 0.01; done; echo '{WORDS}' >&2; exec sleep 60"
    lab.start(journalctl_path=program(tmp_path, script))
    lab.wait_until(lambda: "journalctl reports: welcome" in caplog.text)
    mark.touch()
    lab.wait_until(lambda: bool(lab.feed.status().problems))
    assert PROBLEM in caplog.text


def test_entries_of_others_that_are_not_seen_are_a_problem(lab: JournalLab, tmp_path: Path) -> None:
    words = "Hint: You are currently not seeing messages from other users and the system."
    lab.start(once=True, journalctl_path=program(tmp_path, f"{entry(1, 'one')}; echo '{words}' >&2"))
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    assert problem(lab).endswith("system; add the shipper's user to the group systemd-journal, and restart the agent")


def test_once_a_file_that_is_ignored_is_a_problem_also_behind_many_other_words(lab: JournalLab, tmp_path: Path) -> None:
    written = tmp_path / "written"
    os.mkfifo(written)
    words = "yes welcome | head -c 50000; echo 'Journal file x is truncated, ignoring file.'"
    script = f"{entry(1, 'one')}; {{ {words}; }} >&2; echo all >{written}"
    lab.start(once=True, journalctl_path=program(tmp_path, script))
    lab.feed.step()
    assert written.read_text() == "all\n"
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    assert "x is truncated, ignoring file; move that file away" in problem(lab)


def test_once_other_words_are_no_problem(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(once=True, journalctl_path=program(tmp_path, f"echo welcome >&2; {entry(1, 'one')}"))
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    assert not lab.feed.status().problems


def test_one_that_closes_its_standard_error_does_not_keep_the_loop_awake(lab: JournalLab, tmp_path: Path) -> None:
    lab.start(journalctl_path=program(tmp_path, f"exec 2>&-; {entry(1, 'one')}; exec sleep 60"))
    lab.read("one")
    assert sum(lab.rings(0.1) for _ in range(5)) <= 2, "once for the entry, and once for the end"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -s SEGV $$", "was killed by SIGSEGV"),
        ("kill -s 40 $$", "was killed by signal 40"),
        ("exec >&-; exec sleep 60", "closed its output without exiting and was killed"),
        ("echo no rights; exit 3", "exited with code 3: b'no rights'"),
        ("echo no rights >&2; echo garbage; exit 3", "exited with code 3: no rights"),
        ("exit 0", "exited with code 0"),
    ],
    ids=["signal", "realtime", "closed", "output", "errors", "nothing"],
)
def test_how_it_ended_is_said_in_words(lab: JournalLab, tmp_path: Path, script: str, words: str) -> None:
    lab.start(journalctl_path=program(tmp_path, script))
    lab.wait_until(lambda: bool(lab.feed.status().problems))
    assert problem(lab) == f"journalctl {words}"


def test_a_root_directory_that_it_cannot_have_is_named(lab: JournalLab, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "journalctl").write_text("")
    (root / "bin" / "journalctl").chmod(0o755)
    lab.start(journalctl_path="/bin/journalctl", chroot=str(root))
    root.rename(tmp_path / "elsewhere")
    lab.step()
    assert f"cannot start journalctl in the root directory {root}; check that it exists" in problem(lab)
