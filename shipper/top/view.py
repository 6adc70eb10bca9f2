"""The user's view, and how keys change it."""

from dataclasses import dataclass, replace

from log_shipper.shipper.top.charts import BLOCKS, Glyphs
from log_shipper.shipper.top.document import Document

PAGE = 10  # rows


@dataclass(frozen=True, slots=True)
class View:
    """The view. `problem` is why there is no newer document; `asked`: the program's address. `table` is the number of
    the selected one, and `row` the number of its first visible row.
    """

    asked: str
    document: Document | None = None
    problem: str = ""
    table: int = 0
    row: int = 0
    is_paused: bool = False
    has_help: bool = False
    glyphs: Glyphs = BLOCKS

    def updated(self, document: Document | None, problem: str) -> "View":
        """Return the view with the last response; a paused view keeps its content."""
        return self if self.is_paused else replace(self, document=document, problem=problem)

    def pressed(self, key: str) -> "View | None":
        """Return the view after a key; None to quit."""
        if key == "q":
            return None
        if self.has_help or key == "?":
            return replace(self, has_help=not self.has_help)
        match key:
            case "p" | " ":
                return replace(self, is_paused=not self.is_paused)
            case "left" | "backtab":
                return self._select(self.table - 1)
            case "right" | "tab":
                return self._select(self.table + 1)
            case "up" | "k":
                return self._scroll(self.row - 1)
            case "down" | "j":
                return self._scroll(self.row + 1)
            case "page up":
                return self._scroll(self.row - PAGE)
            case "page down":
                return self._scroll(self.row + PAGE)
            case "home":
                return self._scroll(0)
            case "end":
                return self._scroll(self._rows)
        if key.isdecimal() and 1 <= int(key) <= self._tables:
            return self._select(int(key) - 1)
        return self

    def _select(self, table: int) -> "View":
        return replace(self, table=table % self._tables, row=0) if self._tables else self

    def _scroll(self, row: int) -> "View":
        return replace(self, row=max(min(row, self._rows - 1), 0))

    @property
    def _tables(self) -> int:
        return len(self.document.tables) if self.document else 0

    @property
    def _rows(self) -> int:
        if self.document is None or self.table >= self._tables:
            return 0
        return len(self.document.tables[self.table].rows)
