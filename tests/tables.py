"""Tables of texts as texts: the formatter breaks a row of a list into a line for each cell."""

import re
from textwrap import dedent


def rows(table: str) -> list[tuple[str, ...]]:
    r"""Return the rows; ` -> ` is between two cells. A line that is indented continues the one before it, and `\n` in a
    raw text is the end of a line in a cell."""
    whole = re.sub(r"\n +", " ", dedent(table).strip())
    return [tuple(row.replace(r"\n", "\n").split(" -> ")) for row in whole.splitlines()]
