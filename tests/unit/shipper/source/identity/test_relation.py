"""The table of relation.py, as a table. No file is read: what is seen of one are its names, numbers and times."""

from dataclasses import replace
from typing import Any, cast

import pytest

from registry.state import MISSING, REMOVED, TRUNCATED, FileState
from shipper.source.discovery.scanner import FileKey, ScannedFile
from shipper.source.discovery.spec import InputSpec
from shipper.source.identity.content import Plain, Zipped
from shipper.source.identity.opened_file import OpenedFile
from shipper.source.identity.relation import SECOND, Relation, may_go_on, relation

ORIGINAL: FileKey = (1, 811)
BIRTH = 1_763_000_000 * SECOND + 123
MODIFIED = BIRTH + 100 * SECOND  # last, before it went; where it was truncated, that was then
LATER = MODIFIED + 10 * SECOND + 1

PLAIN, ZIPPED = Plain(-1), Zipped(-1)


def entry(ended: str | None = MISSING, **changes: Any) -> FileState:
    state = FileState(
        "known", "/l/app.log", *ORIGINAL, position=8, proof="ab", size_seen=8, birth=BIRTH, modified=MODIFIED
    )
    return replace(state, ended=ended, **changes)


def new_file(path: str = "/l/web.log", key: FileKey = (1, 900), **changes: Any) -> OpenedFile:
    """One of which nothing is seen that would make it the entry's, but for the changes."""
    opened = OpenedFile(
        ScannedFile(path, key, 8, 0.0), PLAIN, 8, key, cast("InputSpec", None), birth=LATER, modified=LATER
    )
    return replace(opened, **changes)


ROWS: dict[str, tuple[OpenedFile, FileState, FileKey | None, bool, bool]] = {
    # what is seen: the new file, the entry, held as a copy of: goes on if missing or removed, if truncated
    "the same inode, born at the same time": (
        new_file(key=ORIGINAL, birth=BIRTH),
        entry(),
        None,
        True,
        False,
    ),
    "also by another number of its device": (
        new_file(key=(2, 811), birth=BIRTH),
        entry(),
        None,
        True,
        False,
    ),
    "also where it was under its name": (
        new_file("/l/app.log", ORIGINAL, birth=BIRTH),
        entry(),
        None,
        True,
        False,
    ),
    "also held as a copy of what was there": (
        new_file("/l/app.log", ORIGINAL, birth=BIRTH),
        entry(),
        ORIGINAL,
        True,
        False,
    ),
    "the same inode, of which no birth is told": (
        new_file(key=ORIGINAL, birth=0),
        entry(birth=0),
        None,
        True,
        False,
    ),
    "nor now": (
        new_file(key=ORIGINAL, birth=0),
        entry(),
        None,
        True,
        False,
    ),
    "nor then": (
        new_file(key=ORIGINAL),
        entry(birth=0),
        None,
        True,
        False,
    ),
    "the same inode, born at another time": (
        new_file(key=ORIGINAL, birth=BIRTH + 1),
        entry(),
        None,
        False,
        False,
    ),
    "another inode, born at the same time": (
        new_file(birth=BIRTH),
        entry(),
        None,
        False,
        False,
    ),
    "a .gz whose name begins with its": (
        new_file("/old/app.log.1.gz", content=ZIPPED),
        entry(),
        None,
        True,
        False,
    ),
    "a .gz that has its time": (
        new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED),
        entry(),
        None,
        True,
        False,
    ),
    "a .gz is smaller than what it was made of": (
        new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED, size=2),
        entry(),
        None,
        True,
        False,
    ),
    "a .gz of an older generation of that log": (
        new_file("/l/app.log.3.gz", content=ZIPPED),
        entry(path="/l/app.log.1"),
        None,
        True,
        False,
    ),
    "a .gz of a younger generation": (
        new_file("/l/app.log.1.gz", content=ZIPPED),
        entry(path="/l/app.log.2"),
        None,
        False,
        False,
    ),
    "a .gz of another name and time": (
        new_file("/l/my-app.log.gz", content=ZIPPED),
        entry(),
        None,
        False,
        False,
    ),
    "a .gz of a .gz's name, and another time": (
        new_file("/l/app.log.gz.1", content=ZIPPED),
        entry(path="/l/app.log.gz", compressed=5),
        None,
        False,
        False,
    ),
    "a .gz of a .gz's time": (
        new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED, size=2),
        entry(compressed=5),
        None,
        True,
        False,
    ),
    "a plain file whose name begins with its": (
        new_file("/l/app.log.1"),
        entry(),
        None,
        False,
        False,
    ),
    "modified when it was": (
        new_file(modified=MODIFIED),
        entry(),
        None,
        True,
        False,
    ),
    "and more was written since it was read": (
        new_file(modified=MODIFIED, size=9),
        entry(),
        None,
        True,
        False,
    ),
    "but it is smaller than was seen of it": (
        new_file(modified=MODIFIED, size=7),
        entry(),
        None,
        False,
        False,
    ),
    "named after it, and made before it was truncated": (
        new_file("/l/app.log.1", birth=MODIFIED),
        entry(),
        None,
        False,
        True,
    ),
    "named by a date": (
        new_file("/old/app-20261121.log", birth=MODIFIED),
        entry(),
        None,
        False,
        True,
    ),
    "made a moment later": (
        new_file("/l/app.log.1", birth=MODIFIED + 1),
        entry(),
        None,
        False,
        False,
    ),
    "made later, with an older time": (
        new_file("/l/app.log.1", modified=MODIFIED - 1),
        entry(),
        None,
        False,
        False,
    ),
    "named after it and written before it was truncated, and nobody knows when made": (
        new_file("/l/app.log.1", birth=0, modified=MODIFIED - 1),
        entry(),
        None,
        False,
        True,
    ),
    "named after it and written later, and nobody knows when made": (
        new_file("/l/app.log.1", birth=0),
        entry(),
        None,
        False,
        False,
    ),
    "a .gz named after it, of a file that was written before it was truncated": (
        new_file("/l/app.log.1.gz", content=ZIPPED, modified=MODIFIED),
        entry(),
        None,
        True,
        True,
    ),
    "made before it was truncated, of another name": (
        new_file(birth=MODIFIED),
        entry(),
        None,
        False,
        False,
    ),
    "named after it, which nobody knows when it was truncated": (
        new_file("/l/app.log.1", birth=MODIFIED),
        entry(modified=0),
        None,
        False,
        False,
    ),
    "held as its copy": (
        new_file(),
        entry(),
        ORIGINAL,
        False,
        True,
    ),
    "held as a copy of another": (
        new_file(),
        entry(),
        (1, 812),
        False,
        False,
    ),
    "nothing of these": (
        new_file(),
        entry(),
        None,
        False,
        False,
    ),
}


@pytest.mark.parametrize("ended", [MISSING, REMOVED, TRUNCATED])
@pytest.mark.parametrize("row", ROWS)
def test_who_may_go_on_where_another_file_ended(row: str, ended: str) -> None:
    opened, state, original, if_gone, if_truncated = ROWS[row]
    expected = if_truncated if ended == TRUNCATED else if_gone
    assert may_go_on(replace(state, ended=ended), opened, original) is expected


def test_nobody_goes_on_in_the_entry_of_a_file_that_is_there() -> None:
    assert may_go_on(entry(), new_file(key=ORIGINAL, birth=BIRTH), None)
    assert not may_go_on(entry(None), new_file(key=ORIGINAL, birth=BIRTH), None)


@pytest.mark.parametrize(
    ("remembered", "seen", "equal"),
    [
        (5 * SECOND + 7, 5 * SECOND + 7, True),
        (5 * SECOND + 7, 5 * SECOND + 8, False),
        (5 * SECOND + 7, 5 * SECOND + 700, False),
        (5 * SECOND + 7, 5 * SECOND, True),  # tar and gzip keep seconds
        (5 * SECOND, 5 * SECOND + 7, True),  # it was on a file system that keeps seconds
        (5 * SECOND, 5 * SECOND, True),
        (5 * SECOND + 7, 6 * SECOND, False),
        (5 * SECOND, 6 * SECOND, False),
        (5 * SECOND, 4 * SECOND + 7, False),
        (0, 0, False),  # of an older release's entry nobody knows the time
        (0, 7, False),
    ],
)
def test_times_are_equal_to_the_second_only_where_one_has_no_more(remembered: int, seen: int, equal: bool) -> None:
    assert may_go_on(entry(modified=remembered), new_file(modified=seen), None) is equal


UNPROVABLE: dict[str, dict[str, Any]] = {
    "nothing was acknowledged": {"position": 0, "proof": ""},
    "nothing was acknowledged, in spite of a proof": {"position": 0},
    "an older release's entry": {"proof": ""},
}


@pytest.mark.parametrize("ended", [MISSING, REMOVED])
@pytest.mark.parametrize("why", UNPROVABLE)
def test_where_no_byte_can_be_proven_the_inode_alone_counts(why: str, ended: str) -> None:
    state = entry(ended, **UNPROVABLE[why])
    same, same_inode = new_file(key=ORIGINAL, birth=BIRTH), new_file(key=ORIGINAL, birth=0)
    zipped, same_time = new_file("/l/app.log.1.gz", content=ZIPPED), new_file(modified=MODIFIED)
    assert [may_go_on(state, each, None) for each in (same, same_inode, zipped, same_time)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("why", UNPROVABLE)
def test_and_no_copy_goes_on_where_it_was_truncated(why: str) -> None:
    state = entry(TRUNCATED, **UNPROVABLE[why])
    assert not may_go_on(state, new_file(), ORIGINAL)
    assert not may_go_on(state, new_file("/l/app.log.1", birth=MODIFIED), None)


@pytest.mark.parametrize(
    ("opened", "state", "seen"),
    [
        (new_file("/l/app.log.1.gz", ORIGINAL, content=ZIPPED, birth=BIRTH), entry(), Relation.SAME),
        (new_file("/l/app.log.1.gz", ORIGINAL, content=ZIPPED, birth=0), entry(), Relation.SAME_INODE),
        (new_file("/l/app.log.1.gz", content=ZIPPED, modified=MODIFIED), entry(), Relation.ZIPPED),
        (new_file("/l/app.log.1", birth=MODIFIED, modified=MODIFIED), entry(), Relation.SAME_TIME),
        (new_file("/l/app.log.1", birth=MODIFIED, modified=MODIFIED), entry(TRUNCATED), Relation.COPY),
        (new_file("/l/app.log.1", birth=MODIFIED), entry(), Relation.NONE),
    ],
)
def test_of_several_that_hold_the_first_is_told(opened: OpenedFile, state: FileState, seen: Relation) -> None:
    assert relation(state, opened, None) is seen
