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
        "truncated with batches under way, then killed",
        MULTILINE,
        [("hold", True), WRITE, RUN, ("truncate", "b.log"), RUN, ("kill",)],
    ),
]
