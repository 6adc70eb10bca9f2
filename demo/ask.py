"""Query the table of a running demo: `python -m demo.ask FOLDER ["SELECT ... FROM lines"]`.

An error in the SQL is reported in one line.
"""

import sys
from pathlib import Path

from deltalake.exceptions import DeltaError

from demo.screen import Screen
from demo.site import Site
from demo.table import TableReader


def show(table: TableReader, screen: Screen, queries: tuple[str, ...]) -> None:
    """Show the results of the queries; without queries, sample rows and an aggregate."""
    for columns, rows in [table.query(text) for text in queries] or [table.rows(), table.aggregate()]:
        screen.write()
        if rows:
            screen.table(columns, rows, width=100)


def main() -> int:
    import duckdb  # as in demo.table

    try:
        show(TableReader(Site(Path(sys.argv[1]).absolute())), Screen(), tuple(sys.argv[2:]))
    except (duckdb.Error, DeltaError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)  # noqa: T201 - the last line of a command
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
