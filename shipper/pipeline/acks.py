"""The ordered-acknowledgement ledger: which byte of a file has everything before it delivered.

Batches of a file are tracked in the order of the file and resolved in any order. The position is the end of the
longest run of resolved batches that starts at the front, so it never passes a batch that is still open. A batch that
is resolved out of order passes its end to its predecessor, which keeps it until it is resolved itself; so the ledger
has one node for each open batch and nothing for resolved ones.

Pure and without locks: one thread tracks and resolves.
"""

from __future__ import annotations

from collections.abc import Callable


class _Node:
    __slots__ = ("end", "next", "open", "previous")

    def __init__(self, end: int, previous: _Node | None) -> None:
        self.end = end
        self.open = True
        self.previous = previous
        self.next: _Node | None = None


class Ledger:
    """`position` is a byte offset in the file; `on_advance(position)` is called each time it moves forward."""

    def __init__(self, position: int, on_advance: Callable[[int], None] | None = None) -> None:
        self.position = position
        self.tracked = position
        self.open_batches = 0
        self._on_advance = on_advance
        self._last: _Node | None = None

    def track(self, end: int) -> Callable[[], None]:
        """Track that the bytes up to `end` are in flight. Return the closure that resolves them.

        Raises ValueError for an end before one that was tracked earlier: batches come in the order of the file.
        """
        if end < self.tracked:
            raise ValueError(f"batch ends at byte {end}, before byte {self.tracked} that was tracked already")
        node = _Node(end, self._last)
        if self._last is not None:
            self._last.next = node
        self._last = node
        self.tracked = end
        self.open_batches += 1

        def resolve() -> None:
            if node.open:
                node.open = False
                self._settle(node)

        return resolve

    def _settle(self, node: _Node) -> None:
        self.open_batches -= 1
        previous, following = node.previous, node.next
        if following is not None:
            following.previous = previous
        else:
            self._last = previous
        if previous is not None:
            previous.next = following
            previous.end = node.end
        elif node.end > self.position:
            self.position = node.end
            if self._on_advance is not None:
                self._on_advance(self.position)

    def __repr__(self) -> str:
        return f"<Ledger position={self.position} tracked={self.tracked} open={self.open_batches}>"
