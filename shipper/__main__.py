"""The `shipper` command line. Exit codes: docs/guides/shipper.md.

Loading the rest of the program takes a good part of a second. What must take effect immediately is done first: closed
standard streams are replaced, and signals are handled.
"""

import gc
import os
import sys

from log_shipper.shipper.agent.signals import handle_early

YOUNG_OBJECTS = 200_000  # objects created before the collector runs


def main() -> int:
    replace_closed_streams()
    # Without a command it runs, as Filebeat does. The first process of a container would ignore SIGTERM.
    if sys.argv[1:2] in ([], ["run"]) or sys.argv[1].startswith("-"):
        handle_early(once="--once" in sys.argv)
    # Modules and options live to the end: there is nothing to collect in them.
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    from log_shipper.shipper.cli import commands  # imported late, see above

    try:
        return commands.main()
    finally:
        gc.freeze()  # otherwise the collector would visit all objects once more at exit


def replace_closed_streams() -> None:
    """Open /dev/null in the place of standard streams that the parent process has closed (`2>&-`), before anything else
    is opened: otherwise the registry or a log file would become descriptor 1 or 2, and a library that prints a warning
    would write it into that file.

    As glibc does for privileged programs, reading and writing still fail as if they were closed: records written to
    /dev/null would count as delivered. Only standard error is discarded, because the parent chose not to read it.
    """
    for descriptor, direction in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # open() returns the lowest free descriptor: this one, because those below it are open by now.
            os.set_inheritable(os.open(os.devnull, direction), True)
            if descriptor == 2:
                sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
