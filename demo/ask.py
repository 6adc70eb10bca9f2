"""Query the table of a demo that was left running:  python -m demo.ask FOLDER ["SELECT ... FROM lines"]"""

import sys
from pathlib import Path

from demo.screen import Screen
from demo.site import Site
from demo.table import TableReader


def show(table: TableReader, screen: Screen, queries: tuple[str, ...]) -> None:
    """Show the results of the queries, or, without any, the sample rows and the aggregate."""
    for columns, rows in [table.query(text) for text in queries] or [table.rows(), table.aggregate()]:
        screen.write()
        if rows:
            screen.table(columns, rows, width=100)


def main() -> None:
    show(TableReader(Site(Path(sys.argv[1]).absolute())), Screen(), tuple(sys.argv[2:]))


if __name__ == "__main__":
    main()
