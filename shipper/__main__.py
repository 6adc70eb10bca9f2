"""`shipper`: the command line. Exit codes: ARCHITECTURE.md, "Command line"."""

import sys

from shipper.cli import main

if __name__ == "__main__":
    sys.exit(main())
