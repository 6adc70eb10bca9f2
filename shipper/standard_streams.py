"""Standard input, output and error that the parent process has closed (`2>&-`)."""

import os
import sys


def occupy() -> None:
    """Put something in the place of those that are closed, before anything else is opened: else the registry or a log
    file would become descriptor 1 or 2, and a library that prints a warning would write it into that.

    As in glibc for privileged programs, reading and writing still fail as if they were closed: records that are written
    to nowhere would count as delivered. Only what is written to standard error goes nowhere, because the parent chose
    not to read it."""
    for descriptor, direction in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest that is free: this one, as those below it are open by now.
            os.set_inheritable(os.open(os.devnull, direction), True)
            if descriptor == 2:
                sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
