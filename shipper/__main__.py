"""`shipper`: the command line. Exit codes: ARCHITECTURE.md, "Command line".

Loading the rest of the program takes a good part of a second. What must hold from the first instant comes before."""

import sys

from shipper import standard_streams
from shipper.signals import end_at_once


def main() -> int:
    standard_streams.occupy()
    if sys.argv[1:2] == ["run"]:
        end_at_once(once="--once" in sys.argv)
    from shipper import cli  # as late as that: see above

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
