"""The ordered-acknowledgement ledger: up to which byte of a file everything is delivered.

Batches of a file are tracked in file order and resolved in any order. The position is the end of the longest run of
resolved batches from the front, so it never passes an open batch. A batch resolved out of order passes its end to its
predecessor, which keeps it until it is resolved itself; so the ledger has one node per open batch and none for resolved
ones.

An output that commits several batches at once must know the future positions first. So a batch may be *staged* between
its resolution and the commit: it counts as open, and nothing moves, but `position_with` returns the position.

Pure and lock-free: one thread tracks and resolves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection


class OpenBatch:
    """An open batch of a ledger, up to the byte `end`. `read_at`: monotonic time at which it was read."""

    __slots__ = ("end", "next", "open", "previous", "read_at")

    def __init__(self, end: int, previous: OpenBatch | None, read_at: float) -> None:
        self.end = end
        self.read_at = read_at
        self.open = True
        self.previous = previous
        self.next: OpenBatch | None = None


# Stages a resolved batch, to be settled later; returns False if it must be settled at once.
Stage = Callable[["Ledger", OpenBatch], bool]


class Ledger:
    """`position` is a byte offset in the file; `on_advance(position)` is called when it moves forward, `on_settled`
    when no batch is open any more."""

    def __init__(
        self,
        position: int,
        on_advance: Callable[[int], None] | None = None,
        stage: Stage | None = None,
        on_settled: Callable[[], None] | None = None,
    ) -> None:
        self.position = position
        self.tracked = position
        self.open_batches = 0
        self._on_advance = on_advance
        self._stage = stage
        self._on_settled = on_settled
        self._first: OpenBatch | None = None
        self._last: OpenBatch | None = None

    @property
    def oldest(self) -> float | None:
        """Return when the first open batch was read; None if there is none. Callable from any thread."""
        first = self._first
        return None if first is None else first.read_at

    def track(self, end: int, read_at: float = 0.0) -> Callable[[], None]:
        """Track the bytes up to `end` as in flight. Return the closure that resolves them.

        Raises ValueError if an earlier batch ends further: batches come in file order.
        """
        if end < self.tracked:
            raise ValueError(f"batch ends at byte {end}, before byte {self.tracked} that was tracked already")
        node = OpenBatch(end, self._last, read_at)
        if self._last is not None:
            self._last.next = node
        else:
            self._first = node
        self._last = node
        self.tracked = end
        self.open_batches += 1

        def resolve() -> None:
            if node.open:
                node.open = False
                if self._stage is None or not self._stage(self, node):
                    self.settle(node)

        return resolve

    def position_with(self, nodes: Collection[OpenBatch]) -> int:
        """Return the position after these batches are settled."""
        position, node = self.position, self._first
        while node is not None and node in nodes:
            position, node = node.end, node.next
        return position

    def settle(self, node: OpenBatch) -> None:
        """Settle a resolved batch, once; `resolve` does it unless the batch is staged."""
        self.open_batches -= 1
        previous, following = node.previous, node.next
        if following is not None:
            following.previous = previous
        else:
            self._last = previous
        if previous is None:
            self._first = following
        else:
            previous.next = following
            previous.end = node.end
        if previous is None and node.end > self.position:
            self.position = node.end
            if self._on_advance is not None:
                self._on_advance(self.position)
        if not self.open_batches and self._on_settled is not None:
            self._on_settled()

    def __repr__(self) -> str:
        return f"<Ledger position={self.position} tracked={self.tracked} open={self.open_batches}>"
