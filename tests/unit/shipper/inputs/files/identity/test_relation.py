"""The table of relation.py, as a table. No file is read: what is seen of one are its names, numbers and times."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.inputs.files.discovery.scanner import Inode, ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.content import Plain, Zipped
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.relation import SECOND, Relation, may_resume, relation
from log_shipper.shipper.options.model import FileIdentityConfig, InputConfig

ORIGINAL: Inode = (1, 811)
BIRTH = 1_763_000_000 * SECOND + 123
MODIFIED = BIRTH + 100 * SECOND  # last, before it went; where it was truncated, that was then
LATER = MODIFIED + 10 * SECOND + 1

SPEC = InputSpec(InputConfig(id="app", paths=("/l/*",)))
GROWING = InputSpec(replace(SPEC.config, file_identity=FileIdentityConfig("fingerprint", length=8, growing=True)))
PLAIN, ZIPPED = Plain(-1), Zipped(-1)


def entry(ended: str | None = MISSING, **changes: Any) -> FileState:
    state = FileState(
        "known",
        "/l/app.log",
        *ORIGINAL,
        position=8,
        proof="ab",
        size_seen=8,
        birth=BIRTH,
        modified=MODIFIED,
        input="app",
    )
    return replace(state, ended=ended, **changes)


def new_file(path: str = "/l/web.log", inode: Inode = (1, 900), **changes: Any) -> OpenedFile:
    """One of which nothing is seen that would make it the entry's, but for the changes."""
    opened = OpenedFile(ScannedFile(path, inode, 8, 0.0), PLAIN, 8, "", SPEC, birth=LATER, modified=LATER)
    return replace(opened, **changes)


IF_MISSING = frozenset({MISSING, REMOVED})
IF_TRUNCATED = frozenset({TRUNCATED})
ALWAYS = IF_MISSING | IF_TRUNCATED
NEVER: frozenset[str] = frozenset()
ENTRY = entry()


@dataclass(frozen=True)
class Row:
    """What is seen of a new file, and how the entry's file has to have ended for the new one to resume there."""

    opened: OpenedFile
    state: FileState = ENTRY
    copy_of: str = ""  # id of the file whose copy it is suspected to be
    resumes: frozenset[str] = NEVER


ROWS = {
    "the same inode, born at the same time": Row(new_file(inode=ORIGINAL, birth=BIRTH), resumes=IF_MISSING),
    "also by another number of its device": Row(new_file(inode=(2, 811), birth=BIRTH), resumes=IF_MISSING),
    "also where it was under its name": Row(new_file("/l/app.log", ORIGINAL, birth=BIRTH), resumes=IF_MISSING),
    "also suspected to be a copy of what was there": Row(
        new_file("/l/app.log", ORIGINAL, birth=BIRTH), copy_of=ENTRY.id, resumes=IF_MISSING
    ),
    "the same inode, whose birth is unknown": Row(
        new_file(inode=ORIGINAL, birth=0), entry(birth=0), resumes=IF_MISSING
    ),
    "unknown now": Row(new_file(inode=ORIGINAL, birth=0), resumes=IF_MISSING),
    "unknown then": Row(new_file(inode=ORIGINAL), entry(birth=0), resumes=IF_MISSING),
    "the same inode, born at another time": Row(new_file(inode=ORIGINAL, birth=BIRTH + 1)),
    "another inode, born at the same time": Row(new_file(birth=BIRTH)),
    "a .gz whose name begins with its": Row(new_file("/old/app.log.1.gz", content=ZIPPED), resumes=IF_MISSING),
    "a .gz that has a date before its extension": Row(
        new_file("/old/app-2026-11-21-1.log.gz", content=ZIPPED), resumes=IF_MISSING
    ),
    "a .gz that has a number before its extension": Row(
        new_file("/l/app.1.log.gz", content=ZIPPED), resumes=IF_MISSING
    ),
    "a .gz of another date": Row(new_file("/l/app-20261122.log.gz", content=ZIPPED), entry(path="/l/app-20261121.log")),
    "a .gz that has its time": Row(new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED), resumes=IF_MISSING),
    "a .gz is smaller than what it was made of": Row(
        new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED, size=2), resumes=IF_MISSING
    ),
    "a .gz of an older generation of that log": Row(
        new_file("/l/app.log.3.gz", content=ZIPPED), entry(path="/l/app.log.1"), resumes=IF_MISSING
    ),
    "a .gz of a younger generation": Row(new_file("/l/app.log.1.gz", content=ZIPPED), entry(path="/l/app.log.2")),
    "a .gz of another name and time": Row(new_file("/l/my-app.log.gz", content=ZIPPED)),
    "a .gz whose name only begins with its": Row(new_file("/l/job10.gz", content=ZIPPED), entry(path="/l/job1")),
    "a .gz of its name": Row(new_file("/l/app.log.gz", content=ZIPPED), resumes=IF_MISSING),
    "a .gz of its name in another directory": Row(
        new_file("/tue/backup.log.gz", content=ZIPPED), entry(path="/mon/backup.log")
    ),
    "a .gz of its name in a directory of that date": Row(
        new_file("/l/2026-11/app.log.gz", content=ZIPPED), resumes=IF_MISSING
    ),
    "a .gz of its name and time in another directory": Row(
        new_file("/old/app.log.gz", content=ZIPPED, modified=MODIFIED), resumes=IF_MISSING
    ),
    "a .gz of its second, which is all that it has, and of its name in another directory": Row(
        new_file("/old/app.log.gz", content=ZIPPED, modified=MODIFIED // SECOND * SECOND), resumes=IF_MISSING
    ),
    "a .gz of its second, which is all that it has, and of another name": Row(
        new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED // SECOND * SECOND)
    ),
    "a .gz of a .gz's name, and another time": Row(
        new_file("/l/app.log.gz.1", content=ZIPPED), entry(path="/l/app.log.gz", compressed=5)
    ),
    "a .gz of a .gz's time": Row(
        new_file("/l/all.gz", content=ZIPPED, modified=MODIFIED, size=2), entry(compressed=5), resumes=IF_MISSING
    ),
    "a plain file whose name begins with its": Row(new_file("/l/app.log.1")),
    "modified when it was": Row(new_file(modified=MODIFIED), resumes=IF_MISSING),
    "and more was written since it was read": Row(new_file(modified=MODIFIED, size=9), resumes=IF_MISSING),
    "but it is smaller than was seen of it": Row(new_file(modified=MODIFIED, size=7)),
    "named after it, and made before it was truncated": Row(
        new_file("/l/app.log.1", birth=MODIFIED), resumes=IF_TRUNCATED
    ),
    "named by a number before its extension": Row(new_file("/l/app.1.log", birth=MODIFIED), resumes=IF_TRUNCATED),
    "named by a date": Row(new_file("/old/app-20261121.log", birth=MODIFIED), resumes=IF_TRUNCATED),
    "of its name in another directory, and made before it was truncated": Row(
        new_file("/tue/backup.log", birth=MODIFIED), entry(path="/mon/backup.log")
    ),
    "of another date, in another directory": Row(
        new_file("/tue/app-20261122.log", birth=MODIFIED), entry(path="/mon/app-20261121.log")
    ),
    "whose name only begins with its": Row(new_file("/l/job10", birth=MODIFIED), entry(path="/l/job1")),
    "made a moment later": Row(new_file("/l/app.log.1", birth=MODIFIED + 1)),
    "made later, with an older time": Row(new_file("/l/app.log.1", modified=MODIFIED - 1)),
    "named after it and written before it was truncated, its birth unknown": Row(
        new_file("/l/app.log.1", birth=0, modified=MODIFIED - 1), resumes=IF_TRUNCATED
    ),
    "named after it and written later, its birth unknown": Row(new_file("/l/app.log.1", birth=0)),
    "a .gz named after it, of a file that was written before it was truncated": Row(
        new_file("/l/app.log.1.gz", content=ZIPPED, modified=MODIFIED), resumes=ALWAYS
    ),
    "made before it was truncated, of another name": Row(new_file(birth=MODIFIED)),
    "named after it, which was truncated at an unknown time": Row(
        new_file("/l/app.log.1", birth=MODIFIED), entry(modified=0)
    ),
    "suspected to be its copy": Row(new_file(), copy_of=ENTRY.id, resumes=IF_TRUNCATED),
    "it may have the growing fingerprint": Row(new_file(spec=GROWING), resumes=ALWAYS),
    "so may another file with its inode": Row(new_file(inode=ORIGINAL, spec=GROWING), resumes=IF_MISSING),
    "less was shipped than the fingerprint has": Row(new_file(spec=GROWING), entry(position=7)),
    "suspected to be a copy of another": Row(new_file(), copy_of="other"),
    "nothing of these": Row(new_file()),
}


@pytest.mark.parametrize("row", ROWS)
def test_which_file_may_resume_where_another_file_ended(row: str) -> None:
    seen = ROWS[row]
    resumes = [
        ended
        for ended in (MISSING, REMOVED, TRUNCATED)
        if may_resume(replace(seen.state, ended=ended), seen.opened, seen.copy_of)
    ]
    assert set(resumes) == set(seen.resumes)


def test_no_file_resumes_in_the_entry_of_a_file_that_exists() -> None:
    assert may_resume(entry(), new_file(inode=ORIGINAL, birth=BIRTH))
    assert not may_resume(entry(None), new_file(inode=ORIGINAL, birth=BIRTH))


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
        (0, 0, False),  # an entry taken over from Filebeat has no time
        (0, 7, False),
    ],
)
def test_times_are_equal_to_the_second_only_where_one_has_no_more(remembered: int, seen: int, equal: bool) -> None:
    assert may_resume(entry(modified=remembered), new_file("/restored/app.log", modified=seen)) is equal


@pytest.mark.parametrize(
    ("path", "original", "resumes"),
    [
        ("/l/shop-a.log", "/l/shop-a.log", True),
        ("/restored/shop-a.log", "/l/shop-a.log", True),
        ("/l/shop-a.log.1", "/l/shop-a.log", True),
        ("/l/shop-a.log", "/l/shop-a.log-20261121", True),
        ("/l/shop-b.log", "/l/shop-a.log", False),
        ("/l/shop-20261122.log", "/l/shop-20261121.log", False),
        ("/l/job10", "/l/job1", False),
    ],
)
def test_and_only_of_files_whose_names_may_be_those_of_one(path: str, original: str, resumes: bool) -> None:
    """Zip and tar give all files of an archive their seconds, or one and the same."""
    for remembered, seen in ((5 * SECOND, 5 * SECOND), (5 * SECOND + 7, 5 * SECOND), (5 * SECOND, 5 * SECOND + 7)):
        state = entry(path=original, modified=remembered)
        assert may_resume(state, new_file(path, modified=seen)) is resumes


UNPROVABLE: dict[str, dict[str, Any]] = {
    "nothing was acknowledged": {"position": 0, "proof": ""},
    "nothing was acknowledged, in spite of a proof": {"position": 0},
    "an entry taken over from Filebeat": {"proof": ""},
}


@pytest.mark.parametrize("ended", [MISSING, REMOVED])
@pytest.mark.parametrize("why", UNPROVABLE)
def test_where_no_byte_can_be_proven_the_inode_alone_counts(why: str, ended: str) -> None:
    state = entry(ended, **UNPROVABLE[why])
    same, same_inode = new_file(inode=ORIGINAL, birth=BIRTH), new_file(inode=ORIGINAL, birth=0)
    zipped, same_time = new_file("/l/app.log.1.gz", content=ZIPPED), new_file(modified=MODIFIED)
    assert [may_resume(state, opened) for opened in (same, same_inode, zipped, same_time)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("why", UNPROVABLE)
def test_and_no_copy_resumes_where_it_was_truncated(why: str) -> None:
    state = entry(TRUNCATED, **UNPROVABLE[why])
    assert not may_resume(state, new_file(), state.id)
    assert not may_resume(state, new_file("/l/app.log.1", birth=MODIFIED))


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
def test_the_first_of_several_relations_that_apply_is_returned(
    opened: OpenedFile, state: FileState, seen: Relation
) -> None:
    assert relation(state, opened) is seen
