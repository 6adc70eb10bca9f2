"""Programs that failed once, made short by `script/fuzz-files --shrink`. As data, not as seeds: a new kind of action
gives every seed another program.
"""

from tests.model.program import Program

MULTILINE = {"multiline": True, "symlinks": False, "gzip": True, "header": False, "flush_at_once": True}
LINES = MULTILINE | {"multiline": False, "flush_at_once": False}
WRITE = ("write", "b.log", (7, 5, 5, 0, 2, 4))
RUN = ("run", (90, 11, 0.1, 3, 0.001, 0.005, 11, 0))

FAILED_ONCE = [
    Program("compressed while open", LINES, [WRITE, ("rotate", "b.log"), RUN, ("gzip", "b.log", 1)]),
    Program("cut before its first read", LINES, [WRITE, ("run", (0.1,)), ("copytruncate", "b.log"), WRITE]),
    Program("copy renamed at once", LINES, [WRITE, RUN, ("copytruncate", "b.log"), ("rotate", "b.log")]),
    Program("killed unsaved, then copied", LINES, [WRITE, RUN, ("kill",), ("copytruncate", "b.log")]),
    Program(
        "head of the next life in the entry of the last",
        MULTILINE,
        [WRITE, RUN, ("truncate", "b.log"), WRITE, RUN, ("copytruncate", "b.log"), RUN],
    ),
    Program(
        "truncated with batches in flight, then killed",
        MULTILINE,
        [("hold", True), WRITE, RUN, ("truncate", "b.log"), RUN, ("kill",)],
    ),
    Program(
        "two copies, of which the younger has more",
        MULTILINE,
        [WRITE, RUN, ("copy", "b.log"), ("write", "b.log", (6, 2, 1, 4)), ("copytruncate", "b.log")],
    ),
    Program(
        "rotated twice between two looks",
        MULTILINE,
        [
            *[("write", "a.log", (4, 4)), ("rotate", "a.log"), ("write", "a.log", (7, 6, 6, 4, 2)), ("settle",)],
            *[("rotate", "a.log"), ("write", "a.log", (7, 1, 0)), ("rotate", "a.log"), ("write_much", "a.log", 600)],
            ("kill",),
        ],
    ),
    Program(
        "a copy that continues where the file before it ended",
        MULTILINE,
        [
            *[("write", "b.log", (3, 3, 1, 7, 6, 2, 7)), ("run", (0.1, 3)), ("rotate", "b.log")],
            *[("write", "b.log", (3, 5, 1, 3)), ("copy", "b.log"), ("kill",), ("write_partly", "b.log", 1)],
        ],
    ),
    Program("copy moved at once", LINES, [WRITE, RUN, ("copytruncate", "b.log"), ("move_inside", "b.log", 1)]),
    Program(
        "head of the next life at the end of the last",
        MULTILINE,
        [
            *[("write", "a.log", (3, 7, 1)), ("run", (90, 0.1, 0.001)), ("copytruncate", "a.log")],
            *[("move_outside", "a.log", 1), ("write", "a.log", (2, 2, 3, 1, 4, 0, 5, 7)), ("run", (0.001, 0.1))],
            ("copytruncate", "a.log"),
        ],
    ),
    Program(
        "copy compressed before it was taken for one",
        MULTILINE,
        [WRITE, ("hold", True), RUN, ("copytruncate", "b.log"), ("run", (90,)), ("gzip", "b.log", 1)],
    ),
    Program("compressed before --once", LINES, [WRITE, ("rotate", "b.log"), ("settle",), ("gzip", "b.log", 1)]),
    Program(
        "truncated behind an unfinished line",
        MULTILINE,
        [
            *[("write", "b.log", (3, 0, 5)), ("write_partly", "b.log", 1), ("run", (0, 3, 0.1))],
            *[("write", "b.log", (0, 6, 6)), ("copytruncate", "b.log")],
        ],
    ),
    Program(
        "the same bytes again at the position",
        MULTILINE,
        [("write", "b.log", (7,)), ("run", (3, 90, 90)), ("copytruncate", "b.log"), ("write_much", "b.log", 600)],
    ),
    Program(
        "truncated while a message of the file before continues in it",
        MULTILINE,
        [
            *[("write", "a.log", (4, 4, 1, 5, 0)), ("run", (0.1, 90, 11)), ("write", "a.log", (7, 4))],
            *[("copytruncate", "a.log"), ("write_partly", "a.log", 0), ("run", (0.1, 0.1, 3, 0.1))],
            ("copytruncate", "a.log"),
        ],
    ),
    Program(
        "copied twice between two scans, then compressed while it is a suspected copy",
        MULTILINE | {"flush_at_once": False},
        [
            *[WRITE, ("run", (11, 11, 11, 0.001)), ("copytruncate", "b.log"), ("copytruncate", "b.log")],
            *[("run", (90,)), ("gzip", "b.log", 2)],
        ],
    ),
    Program(
        "copied twice, deleted while it is a suspected copy, and resumed after that",
        MULTILINE | {"flush_at_once": False},
        [
            *[("write", "a.log", (2, 5)), ("run", (0, 11)), ("copytruncate", "a.log"), ("copytruncate", "a.log")],
            *[("run", (90,)), ("gzip", "a.log", 2)],
        ],
    ),
    Program(
        "replaced while it is closed by a file with its inode, size and time, which is renamed at once",
        MULTILINE | {"disk": True},
        [
            ("write_much", "b.log", 20),
            ("run", (11, 11, 90, 0, 11)),
            ("restore", "b.log", 0, "altered"),
            ("rotate", "b.log"),
        ],
    ),
    Program(
        "compressed copy of a file that begins as a deleted one, which is longer",
        MULTILINE | {"flush_at_once": False},
        [
            *[("write_much", "b.log", 20), ("run", (11, 3, 3)), ("restore", "b.log", 0, "shorter")],
            *[("run", (3, 0, 3)), ("copytruncate", "b.log"), ("gzip", "b.log", 1)],
        ],
    ),
    Program(
        "copied with an unfinished line, after a truncation",
        LINES,
        [
            *[("write", "a.log", (5,)), ("run", (3, 0.1)), ("truncate", "a.log"), ("write_partly", "a.log", 0)],
            *[("copy", "a.log"), ("write", "a.log", (2,))],
        ],
        "count",
    ),
    Program(
        "truncated while all of it belongs to the last message of the file before it",
        LINES,
        [
            *[("recreate", "b.log", (5,)), ("run", (90,)), ("write", "b.log", (6,)), ("rotate", "b.log")],
            *[("write", "b.log", (2,)), ("run", (0.1,)), ("copytruncate", "b.log")],
        ],
        "processed",
    ),
    Program(
        "truncated, written to and removed between two looks",
        LINES,
        [WRITE, ("run", (0, 3)), ("copytruncate", "b.log"), ("write", "b.log", (0,)), ("recreate", "b.log", (0,))],
    ),
    Program(
        "rewritten to its size with an equal tail while it was open",
        LINES | {"header": True, "flush_at_once": True, "disk": True},
        [
            ("write_much", "b.log", 20),  # so that all numbers in the other file have two digits
            *[("write_much", "a.log", 20), ("run", (0.1, 0)), ("truncate", "a.log"), ("write_much", "a.log", 20)],
        ],
    ),
    Program(
        "a copy beside the file that is written to, older than it",
        MULTILINE | {"flush_at_once": False},
        [
            *[("write", "b.log", (2,)), ("rotate", "b.log"), ("run", (3,)), ("stop",), ("write", "b.log", (2, 5))],
            *[("copy", "b.log"), ("run", (0.1, 3, 0.1)), ("kill",), ("write", "b.log", (1,))],
        ],
        "ndjson joined",
    ),
    Program(
        "a copy in another directory, behind an unfinished message",
        MULTILINE | {"flush_at_once": False},
        [
            *[("write", "b.log", (3, 4)), ("run", (0.005, 0)), ("copytruncate", "b.log")],
            *[("move_inside", "b.log", 1), ("run", (0.001,))],
        ],
    ),
    Program(
        "a copy in another directory, while the end of a message is being saved",
        LINES | {"disk": True},
        [
            *[("run", (90,)), ("write", "b.log", (6, 6)), ("run", (90, 0.1, 11))],
            *[("copytruncate", "b.log"), ("move_inside", "b.log", 1)],
        ],
        "not included",
    ),
    Program(
        "a copy that continues in a file that was read without it",
        LINES | {"flush_at_once": True, "gzip": False},
        [
            *[("write", "a.log", (2,)), ("settle",), ("write", "a.log", (3,)), ("hold", True)],
            *[("copytruncate", "a.log"), ("rotate", "a.log"), ("write", "a.log", (2, 6)), ("run", (0.001, 0.001, 3))],
            ("pause", 1),
        ],
        "while",
    ),
    Program(
        "compressed as an older generation while the agent was away",
        LINES,
        [
            *[("write", "a.log", (0,)), ("settle",), ("write", "a.log", (6,)), ("rotate", "a.log"), ("hold", True)],
            *[("write_much", "a.log", 20), ("run", (3,)), ("kill",), ("copytruncate", "a.log"), ("gzip", "a.log", 2)],
        ],
        "not included",
    ),
    Program(
        "continued in a file that was replaced while the agent was down",
        LINES | {"multiline": True, "gzip": False, "disk": True},
        [
            *[("write", "b.log", (3,)), ("write", "a.log", (7,)), ("run", (0.001, 0, 90))],
            *[("write", "b.log", (0, 4, 1, 4, 0, 1, 2)), ("rotate", "b.log"), ("write", "b.log", (0, 6))],
            *[("write_partly", "a.log", 3), ("run", (90, 0.1)), ("kill",), ("recreate", "b.log", (0,))],
            ("rotate", "b.log"),
        ],
        "count",
    ),
    Program(
        "compressed after it was made twice with the lines of a deleted one",
        LINES | {"symlinks": True, "flush_at_once": True},
        [
            *[("recreate", "a.log", (6,)), ("run", (0.005,)), ("recreate_as", "a.log", 0, 1.0, ())],
            *[("rotate", "a.log"), ("recreate_as", "a.log", 1, 1.0, ()), ("gzip", "a.log", 1)],
        ],
        "twice",
    ),
    Program(
        "truncated after it was copied, and renamed, while it waited to be opened",
        LINES | {"symlinks": True, "header": True, "flush_at_once": True, "disk": True, "few": True},
        [
            *[("write", "b.log", (0,)), ("write", "a.log", (0,)), ("run", (90, 0.005, 90, 0.1))],
            *[("copytruncate", "b.log"), ("copytruncate", "a.log"), ("write", "a.log", (7,)), ("rename", "a.log", 0)],
            ("run", (0.001, 90)),
        ],
    ),
    Program(
        "the target of a link is rotated three times between two looks",
        MULTILINE | {"symlinks": True, "links": True, "disk": True},
        [("relink", (1,)), ("run", (0.5,)), ("relink", (2,)), ("rotate_target", 3, (3,))],
    ),
    Program(
        "a link leads back to a file that was rotated twice meanwhile",
        MULTILINE | {"symlinks": True, "links": True, "disk": True},
        [
            *[("relink", (1,)), ("run", (0.05,)), ("swap", 0), ("run", (0.05,)), ("swap", 1)],
            ("rotate_target", 2, (3,)),
        ],
    ),
    Program(
        "a file to which a link led before the last one is not continued in the next one",
        MULTILINE | {"symlinks": True, "links": True, "disk": True, "full": True},
        [("swap", 0), ("run", (0.05,)), ("swap", 1), ("run", (0.05, 0.05)), ("rotate_target", 2, (3,))],
    ),
    Program(
        "rewritten in place with an equal head and tail",
        LINES,
        [("write_much", "b.log", 20), ("run", (3, 3)), ("rewrite", "b.log", 0, "as long", ())],
    ),
    Program(
        "closed, and rewritten in place with an equal head and tail",
        LINES,
        [("write_much", "b.log", 20), ("run", (3, 90, 11)), ("rewrite", "b.log", 0, "longer", (0,))],
    ),
    Program(
        "rewritten in place with an equal head and tail while it waited to be opened",
        LINES | {"few": True},
        [
            *[("write_much", "b.log", 20), ("run", (3, 3)), ("write", "a.log", (0,)), ("rotate", "a.log")],
            *[("write", "a.log", (0,)), ("run", (3, 3)), ("rewrite", "b.log", 0, "as long", ())],
        ],
    ),
    Program(
        "no message continues in a copy of its own file",
        MULTILINE,
        [
            ("write", "b.log", (3,)),
            ("run", (90,)),
            ("write", "b.log", (0,)),
            ("copy", "b.log"),
            ("copytruncate", "b.log"),
        ],
    ),
    Program(
        "a file that was touched, and then made again with the same content",
        MULTILINE | {"resend": True},
        [
            *[("write", "a.log", (2,)), ("rotate", "a.log"), ("run", (0.1, 90)), ("touch", "a.log", 1), ("run", (3,))],
            *[("recreate_as", "a.log", 1, 1.0, ()), ("write_partly", "a.log", 0), ("copy", "a.log")],
        ],
    ),
    Program(
        "truncated and renamed between two looks, while its copy waits to be opened",
        MULTILINE | {"symlinks": True, "few": True},
        [
            *[("write", "a.log", (3,)), ("write", "b.log", (6,)), ("run", (3, 3, 90, 0.1))],
            *[("write", "current.log", (3,)), ("copytruncate", "a.log"), ("rename_over", "a.log", 0, "b.log", 0)],
        ],
    ),
    Program(
        "truncated and renamed between two looks, while its copy waits and the output is blocked",
        LINES | {"full": True, "header": True, "present": True},
        [
            *[("write", "a.log", (1,)), ("run", (0.001, 0)), ("write_partly", "a.log", 0), ("write", "b.log", (7, 1))],
            *[("hold", True), ("run", (3, 3)), ("copytruncate", "a.log"), ("run", (0.1, 3)), ("rotate", "a.log")],
        ],
    ),
    Program(
        "a file that was touched is not older than what was rotated after it",
        MULTILINE | {"resend": True, "growing": True},
        [
            *[("write", "b.log", (3,)), ("run", (0.001,)), ("write", "b.log", (6,)), ("rotate", "b.log")],
            *[("write", "b.log", (2,)), ("rotate_dated", "b.log", "sub"), ("write", "b.log", (2,))],
            ("touch", "b.log", 1),
        ],
    ),
    Program(
        "copied and truncated after a kill, before its bytes were proven",
        MULTILINE | {"symlinks": True, "links": True, "flush_at_once": False},
        [
            *[("swap", 0), ("write", "b.log", (2,)), ("copytruncate_dated", "b.log", "sub"), ("copytruncate", "b.log")],
            *[("write", "a.log", (1, 1)), ("run", (0.1, 0.05, 0.5)), ("kill",), ("run", (3,))],
            ("copytruncate_dated", "a.log", "sub"),
        ],
    ),
    Program(
        "a copy that waits is not continued behind a younger copy",
        MULTILINE,
        [
            *[("write_much", "b.log", 20), ("run", (3, 3)), ("copytruncate_dated", "b.log", "sub")],
            *[("write", "b.log", (3,)), ("copytruncate_dated", "b.log", "sub"), ("write", "b.log", (2,))],
        ],
    ),
    Program(
        "a copy that resumes late is not continued in a file that came to its log's path later",
        MULTILINE | {"few": True, "present": True},
        [
            *[("write", "a.log", (2,)), ("run", (0.001, 0.1)), ("write", "b.log", (1,)), ("write", "a.log", (1,))],
            *[("copytruncate", "a.log"), ("run", (90, 11)), ("write", "a.log", (0,)), ("write", "b.log", (1,))],
            *[("move_outside", "a.log", 0), ("write", "a.log", (3,))],
        ],
    ),
    Program(
        "a copy of a log that was truncated and rotated is not continued in a copy of the next one",
        MULTILINE,
        [
            *[("write", "a.log", (0, 1)), ("run", (0.05, 0.03)), ("copytruncate", "a.log"), ("rotate", "a.log")],
            *[("write", "a.log", (3,)), ("run", (0.1,)), ("rotate_dated", "a.log", "."), ("write", "a.log", (3,))],
            ("copytruncate", "a.log"),
        ],
    ),
    Program(
        "a copy that was renamed while it waited is continued in a younger copy, not in the log",
        MULTILINE | {"disk": True},
        [
            *[("write_much", "a.log", 20), ("run", (3, 3)), ("copytruncate", "a.log"), ("write", "a.log", (1,))],
            *[("run", (0.005,)), ("copytruncate", "a.log"), ("write", "a.log", (3,))],
        ],
    ),
    Program(
        "no message continues in a copy of a copy that follows",
        MULTILINE | {"flush_at_once": False},
        [
            *[("write", "a.log", (2,)), ("run", (0.001,)), ("rotate", "a.log"), ("write", "a.log", (3,))],
            *[("copy", "a.log"), ("stop",), ("copytruncate", "a.log")],
        ],
    ),
    Program(
        "no message continues in a copy of a rotated file that follows",
        MULTILINE | {"disk": True, "full": True},
        [
            *[("write", "a.log", (5,)), ("run", (0,)), ("write", "a.log", (4,)), ("run", (0,))],
            *[("copytruncate", "a.log"), ("write", "a.log", (2,)), ("copy", "a.log"), ("kill",), ("rotate", "a.log")],
        ],
    ),
    Program(
        "after a kill, no message is joined over a file that had been found before",
        MULTILINE | {"growing": True},
        [
            *[("run", (0.005, 90, 3)), ("write", "b.log", (6, 1)), ("run", (0.001, 0.1)), ("gzip_dated", "b.log", ".")],
            *[("write_partly", "b.log", 2), ("rotate_dated", "b.log", "sub"), ("write", "b.log", (3,))],
            *[("run", (0.001,)), ("gzip_dated", "b.log", "."), ("kill",)],
        ],
    ),
    Program(
        "a file that was missing and comes back is not continued in one that came to its path later",
        MULTILINE | {"present": True},
        [
            *[("write", "a.log", (1,)), ("run", (0.005,)), ("kill",), ("move_outside", "a.log", 0)],
            *[("write", "a.log", (0,)), ("run", (90, 90, 3)), ("recreate", "a.log", (3,)), ("move_back", 1)],
        ],
    ),
    Program(
        "a file that was missing and comes back is not continued over one that was rotated meanwhile",
        LINES | {"multiline": True, "disk": True},
        [
            *[("write", "a.log", (5,)), ("run", (11,)), ("write", "a.log", (0,)), ("stop",)],
            *[("move_outside", "a.log", 0), ("write_partly", "a.log", 3), ("run", (0.005,)), ("rotate", "a.log")],
            *[("write", "a.log", (2,)), ("move_back", 1)],
        ],
    ),
    Program(
        "no message is joined over a file that went before it could be opened",
        MULTILINE | {"symlinks": True, "few": True, "links": True},
        [
            *[("write", "current.log", (4,)), ("run", (0.1, 0.05, 0.5)), ("relink", (0,)), ("run", (0.5,))],
            *[("run", (0.1, 0.5)), ("rotate_target", 1, (0,)), ("run", (0.5, 0.03, 0.1, 0.1)), ("swap", 2)],
            *[("rotate_target", 2, (3,)), ("run", (0.5, 0.03, 0.5, 0.03, 0.5, 0.05))],
            ("run", (0.5, 0.03, 0.05, 0.5, 0.03, 0.05)),
        ],
    ),
    Program(
        "a message over three files, of which the second is gone after a kill",
        LINES | {"multiline": True},
        [
            *[("write", "b.log", (1, 0)), ("run", (90, 0.005, 0.005)), ("rotate", "b.log"), ("write", "b.log", (2,))],
            *[("rotate", "b.log"), ("write", "b.log", (2, 1)), ("run", (0.005, 0.005, 0)), ("kill",)],
            ("move_outside", "b.log", 1),
        ],
    ),
    Program(
        "at the end of a link, a file of which every message is dropped was read and closed",
        LINES | {"symlinks": True, "links": True, "present": True},
        [("lead", (0,)), ("write_led", (1,)), *[("run", (0.05, 90, 90))] * 2, ("run", (0.03, 0.03, 0.05, 0.03))],
        "not included",
    ),
    Program(
        "a message over a rotation is joined after a restart, though its second file is opened later than the first",
        MULTILINE | {"symlinks": True, "few": True, "present": True},
        [
            *[("write", "a.log", (2,)), ("rotate", "a.log")] * 2,
            *[("write_much", "a.log", 20), ("run", (0.001, 3, 90, 0)), ("write", "a.log", (3,))],
            *[("write_partly", "b.log", 3), ("copytruncate", "a.log"), ("run", (3, 0, 0, 90)), ("hold", True)],
            *[("write", "a.log", (1,)), ("run", (0.005,)), ("kill",)],
        ],
        "cri",
    ),
    Program(
        "rewritten, touched and removed between two looks",
        LINES | {"gzip": False},
        [
            *[("write_much", "b.log", 20), ("run", (0.005, 0.005)), ("rewrite", "b.log", 0, "longer", (7,))],
            *[("touch", "b.log", 0), ("delete", "b.log", 0)],
        ],
    ),
    Program(
        "a message is joined over a copy that was renamed before it was seen",
        MULTILINE | {"gzip": False},
        [
            *[("write", "a.log", (1,)), ("run", (0.1,)), ("rotate_dated", "a.log", "sub")],
            *[("write", "a.log", (3, 1)), ("copytruncate", "a.log"), ("write", "a.log", (3,))],
            *[("move_outside", "a.log", 1), ("move_back", 0)],
        ],
    ),
    Program(
        "a message over a .gz that was ended by time is joined again after a kill",
        LINES | {"multiline": True},
        [
            *[
                ("write", "a.log", (0, 1)),
                ("run", (0.005, 0.005)),
                ("kill",),
                ("rotate", "a.log"),
                ("gzip", "a.log", 1),
            ],
            *[("write", "a.log", (3,)), ("run", (0.1, 3)), ("hold", True), ("run", (11, 0.005)), ("kill",)],
        ],
    ),
    Program(
        "rewritten, copied and removed before anything of it was acknowledged",
        LINES,
        [
            *[("hold", True), ("write_much", "a.log", 20), ("run", (3, 3)), ("rewrite", "a.log", 0, "shorter", ())],
            *[("copy", "a.log"), ("run", (90,)), ("delete", "a.log", 0)],
        ],
    ),
    Program(
        "a copy is cut at a stop within a line of its original that is dropped",
        LINES | {"gzip": False, "until_eof": True},
        [
            *[("write", "a.log", (1,)), ("write", "b.log", (7,)), ("write_partly", "a.log", 2), ("copy", "a.log")],
            ("write", "a.log", (4,)),
        ],
        "excluded joined",
    ),
    Program(
        "a file that was moved away empty, and is back, follows what was written at its path meanwhile",
        MULTILINE,
        [
            *[("write", "a.log", (0, 1)), ("run", (0.5, 0.5)), ("copytruncate_dated", "a.log", "sub")],
            *[("move_outside", "a.log", 0), ("write", "a.log", (5,)), ("gzip_dated", "a.log", "sub")],
            *[("move_back", 1), ("kill",), ("write", "a.log", (3,))],
        ],
    ),
    Program(
        "a copy takes the name of a generation that leaves the paths with an unfinished message",
        MULTILINE | {"gzip": False, "symlinks": True},
        [
            *[("write", "b.log", (7,)), ("rotate", "b.log"), ("write", "b.log", (4,)), ("run", (0.1,))],
            *[("rotate_dated", "b.log", "."), ("write", "b.log", (2,)), ("run", (0.1,)), ("copytruncate", "b.log")],
            ("move_outside", "b.log", 2),
        ],
    ),
    Program(
        "a generation is compressed, and another file takes its name, before the file that follows is read",
        MULTILINE | {"multiline": False, "symlinks": True, "disk": True, "full": True, "links": True, "present": True},
        [
            *[("write", "a.log", (1,)), ("run", (0.1,)), ("write_partly", "a.log", 3), ("rotate", "a.log")],
            *[("write", "a.log", (2,)), ("rotate", "a.log"), ("run", (0.1,)), ("gzip", "a.log", 1)],
            *[("write", "a.log", (2,)), ("rotate", "a.log"), ("write", "a.log", (3,))],
        ],
        "excluded joined",
    ),
    Program(
        "a file that was deleted while it was a suspected copy is opened after the one that followed it",
        LINES | {"gzip": False, "flush_at_once": True, "disk": True, "full": True},
        [
            *[("hold", True), ("write_much", "a.log", 20), ("run", (11,)), ("restore", "a.log", 0, "whole")],
            *[("run", (11, 3)), ("write", "a.log", (0,)), ("recreate_as", "a.log", 0, 1.0, ()), ("hold", False)],
            *[("run", (0.005, 3, 0, 0.1)), ("rotate", "a.log"), ("write", "a.log", (2,))],
        ],
        "processed",
    ),
    Program(
        "a generation takes the name of another log's while an older one is restored",
        MULTILINE | {"gzip": False, "flush_at_once": False, "disk": True},
        [
            *[("write", "b.log", (4,)), ("recreate", "a.log", (1, 0)), ("copytruncate", "b.log"), ("rotate", "a.log")],
            *[("write", "a.log", (1,)), ("rotate", "a.log"), ("run", (0.001,)), ("restore", "a.log", 2, "shorter")],
            *[("stop",), ("rename_over", "a.log", 1, "b.log", 1)],
        ],
        "before",
    ),
    Program(
        "a file is compressed, and the file that followed it deleted, before a kill",
        MULTILINE | {"disk": True, "present": True},
        [
            *[("write_much", "b.log", 20), ("run", (11,)), ("write", "b.log", (2,)), ("rotate", "b.log")],
            *[("gzip", "b.log", 1), ("write", "b.log", (1,)), ("write", "b.log", (5, 6)), ("run", (0.1, 0.001))],
            *[("recreate", "b.log", (3,)), ("kill",)],
        ],
        "twice",
    ),
    Program(
        "a file that was moved away before it was read comes back after the one that was written meanwhile was rotated",
        LINES | {"symlinks": True, "disk": True, "growing": True},
        [
            *[("write", "a.log", (2,)), ("move_outside", "a.log", 0), ("write_much", "a.log", 20), ("run", (0.005,))],
            *[("rotate_dated", "a.log", "."), ("move_back", 2)],
        ],
        "ndjson joined",
    ),
    Program(
        "a file is rewritten in place, and deleted, while what was sent of it is in flight",
        LINES | {"symlinks": True, "gzip": False, "flush_at_once": True, "disk": True, "present": True},
        [
            *[("write", "a.log", (2, 4, 3)), ("rotate", "a.log"), ("run", (0.005, 0.005))],
            *[("rewrite", "a.log", 1, "as long", ()), ("hold", True), ("run", (0.005, 3)), ("delete", "a.log", 1)],
        ],
        "twice",
    ),
    Program(
        "a copy is not continued in a later copy of the same file",
        LINES | {"flush_at_once": True, "resend": True, "present": True},
        [
            *[("write", "b.log", (1,)), ("run", (0.001, 0.001, 11, 11, 90)), ("write", "b.log", (4,))],
            *[("copy", "b.log"), ("gzip", "b.log", 1), ("write", "b.log", (0,)), ("copytruncate", "b.log")],
        ],
        "count",
    ),
    Program(
        "the oldest generation is the log again, and a copy has its old name",
        MULTILINE | {"flush_at_once": False, "disk": True, "present": True},
        [
            *[("write", "a.log", (0,)), ("rotate", "a.log"), ("write", "a.log", (0,)), ("run", (90,))],
            *[("rotate", "a.log"), ("write", "a.log", (3,)), ("copytruncate", "a.log")],
            *[("rename_over", "a.log", 3, "a.log", 0), ("write_much", "a.log", 20)],
        ],
    ),
    Program(
        "the log is rotated after another file was renamed over it",
        MULTILINE | {"gzip": False, "flush_at_once": False, "disk": True},
        [
            *[("write", "b.log", (2,)), ("write", "a.log", (4,)), ("rename_over", "a.log", 0, "b.log", 0)],
            *[("run", (3,)), ("rotate", "b.log"), ("write", "b.log", (3,))],
        ],
        "twice",
    ),
    Program(
        "a copy is compressed and moved to another directory before the agent looks, and few files may be open",
        LINES | {"symlinks": True, "flush_at_once": True, "disk": True, "few": True, "growing": True, "present": True},
        [
            *[("write", "a.log", (1,)), ("copytruncate", "a.log"), ("write", "a.log", (4,))],
            *[("run", (11, 3, 3, 3, 0.001)), ("copytruncate", "a.log"), ("gzip", "a.log", 1)],
            *[("write", "a.log", (6,)), ("move_inside", "a.log", 1), ("kill",)],
        ],
        "processed",
    ),
    Program(
        "a rotated file is touched, and the log gets the name of an older one",
        MULTILINE | {"gzip": False, "resend": True, "until_eof": True},
        [
            *[("write", "a.log", (1,)), ("rotate", "a.log"), ("write", "a.log", (3,)), ("run", (0.1,))],
            *[("rotate", "a.log"), ("write", "a.log", (1,)), ("run", (0.001, 90, 0)), ("touch", "a.log", 1)],
            *[("rename_over", "a.log", 0, "a.log", 2), ("write", "a.log", (7,))],
        ],
        "twice",
    ),
    Program(
        "a rotated file is deleted and made again, and the log gets the name of an older one",
        MULTILINE | {"gzip": False},
        [
            *[("write", "a.log", (1,)), ("rotate", "a.log"), ("write", "a.log", (3,)), ("run", (0.1,))],
            *[("rotate", "a.log"), ("write", "a.log", (1,)), ("run", (11,))],
            *[("recreate_as", "a.log", 1, 1.0, (7,)), ("rename_over", "a.log", 0, "a.log", 2)],
            ("write", "a.log", (6,)),
        ],
        "twice",
    ),
    Program(
        "two rotations of a log, of which an older rotated file has a hard link",
        LINES | {"symlinks": True, "flush_at_once": True, "disk": True},
        [
            *[("write", "a.log", (3, 7)), ("copy", "a.log"), ("link", "a.log", 1), ("rotate_dated", "a.log", ".")],
            *[("write", "a.log", (3,)), ("run", (0.1,)), ("rotate", "a.log"), ("write", "a.log", (0,))],
            ("rotate", "a.log"),
        ],
        "twice",
    ),
    Program(
        "renamed over the log, copied to another directory and truncated, before the agent looks",
        LINES | {"symlinks": True, "gzip": False, "growing": True, "flush_at_once": True},
        [
            *[("write", "a.log", (1,)), ("run", (3, 0.005, 11, 0.1)), ("rotate", "a.log"), ("write", "a.log", (1,))],
            *[("run", (0.005,)), ("copytruncate", "a.log"), ("rename_over", "a.log", 2, "a.log", 0)],
            ("copytruncate_dated", "a.log", "sub"),
        ],
        "cri joined",
    ),
    Program(
        "killed while the file in which a message continues is outside the paths",
        LINES | {"gzip": False, "disk": True, "present": True},
        [
            *[("write", "a.log", (0,)), ("hold", True), ("run", (11,)), ("write", "a.log", (7,)), ("pause", 20)],
            *[("rotate", "a.log"), ("write", "a.log", (0,)), ("rotate", "a.log"), ("run", (3, 11, 11, 3))],
            *[("move_outside", "a.log", 1), ("kill",), ("run", (0.1, 90)), ("move_back", 2)],
        ],
        "twice",
    ),
    Program(
        "killed after the file in which a message continues was replaced by the first one, which then grew",
        LINES | {"gzip": False},
        [
            *[("run", (0.005,)), ("write", "b.log", (4, 5)), ("run", (3, 3)), ("rotate", "b.log")],
            *[("write", "b.log", (2, 1)), ("run", (0,)), ("run", (0.005,)), ("rename_over", "b.log", 1, "b.log", 0)],
            *[("write", "b.log", (5,)), ("kill",)],
        ],
        "excluded joined",
    ),
    Program(
        "the target of a link is rotated after the agent has shipped what came there before",
        LINES | {"symlinks": True, "gzip": False},
        [
            *[("swap", 0), ("run", (0.05, 0.05, 0.05, 0.5)), ("rotate_target", 2, (4,)), ("settle",)],
            *[("rotate_target", 1, (2,)), ("run", (0.1,))],
        ],
    ),
    Program(
        "copied and truncated while the queue is full, and moved out of the paths while the agent is down",
        LINES | {"gzip": False, "disk": True, "full": True},
        [
            *[("write", "b.log", (0,)), ("copytruncate", "b.log"), ("write_partly", "b.log", 2), ("run", (0.005, 11))],
            *[("write_much", "b.log", 600), ("run", (0.001,)), ("hold", True), ("write", "b.log", (6, 0))],
            *[("run", (11,)), ("copytruncate", "b.log"), ("run", (90,)), ("stop",), ("move_outside", "b.log", 0)],
        ],
        "ndjson joined",
    ),
    Program(
        "killed after the file left the paths in which a dropped message began that ends in the next one",
        LINES,
        [
            *[("write", "b.log", (1,)), ("run", (0.005,)), ("rotate", "b.log"), ("write", "b.log", (2,))],
            *[("write", "a.log", (1,)), ("gzip_dated", "a.log", "."), ("run", (3, 0.1)), ("move_outside", "b.log", 1)],
            *[("write", "b.log", (5, 1)), ("run", (0.005,)), ("kill",)],
        ],
        "processed",
    ),
    Program(
        "rotated by date, by number and by date, between two scans",
        LINES,
        [
            *[("write", "b.log", (4,)), ("run", (3, 0.1, 90)), ("copytruncate_dated", "b.log", "sub")],
            *[("write", "b.log", (0, 3)), ("rotate_dated", "b.log", "sub"), ("write", "b.log", (2,)), ("run", (0,))],
            *[("rotate", "b.log"), ("write", "b.log", (3,)), ("gzip_dated", "b.log", "sub"), ("write", "b.log", (2,))],
        ],
        "utf-16",
    ),
    Program(
        "altered with its time, then put back shorter with its time, and deleted",
        LINES,
        [
            *[("write_much", "a.log", 20), ("run", (11,)), ("restore", "a.log", 0, "altered"), ("run", (11,))],
            *[("restore", "a.log", 0, "shorter"), ("run", (11,)), ("delete", "a.log", 0)],
        ],
    ),
    Program(
        "copied and truncated twice, with a hard link under the name of another log",
        LINES,
        [
            *[("write_much", "b.log", 20), ("recreate", "a.log", (1,)), ("link", "a.log", 0)],
            *[("rename_over", "a.log", 0, "b.log", 0), ("copytruncate", "b.log"), ("write", "b.log", (1,))],
            *[("run", (0, 3, 11, 3)), ("copytruncate", "b.log")],
        ],
    ),
    Program(
        "compressed and moved to another directory, before the copy was more than suspected",
        LINES | {"gzip": True},
        [
            *[("write", "b.log", (1,)), ("run", (3, 3)), ("copytruncate", "b.log"), ("run", (90,))],
            *[("gzip", "b.log", 1), ("move_inside", "b.log", 1)],
        ],
    ),
]
