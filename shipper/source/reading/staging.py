"""What the positions will be when a transaction is committed.

An output with transactions writes the positions with the records, so it needs them before anything may move: until the
commit no position is noted, and no file closed or deleted. So its batches are resolved while they are *staged*: their
ledgers keep them open, and the entries are made that the files will have. After the commit they are settled, which is
what a resolved batch otherwise is at once. A transaction that fails is repeated with the same batches, so nothing ever
has to be unstaged.
"""

from collections.abc import Callable, Iterable

from registry import form
from registry.state import FileState
from shipper.event import Batch
from shipper.pipeline.acks import Ledger, Node, Stage


class Staging:
    """Used by the reading thread only."""

    def __init__(self) -> None:
        self._is_staging = False
        self._staged: dict[Ledger, tuple[list[Node], Callable[[int], FileState | None]]] = {}

    def of(self, state_at: Callable[[int], FileState | None]) -> Stage:
        """Return the stage of a ledger; `state_at` returns the file's state at a position, None for what has no
        entry."""

        def takes(ledger: Ledger, node: Node) -> bool:
            if self._is_staging:
                self._staged.setdefault(ledger, ([], state_at))[0].append(node)
            return self._is_staging

        return takes

    def prepare(self, batches: Iterable[Batch]) -> dict[str, bytes]:
        """Stage batches; return the registry's entry of each of their files, by file id, as it will be once they are
        committed."""
        self._is_staging = True
        for batch in batches:
            batch.resolve()
        self._is_staging = False
        entries = {}
        for ledger, (nodes, state_at) in self._staged.items():
            state = state_at(ledger.position_with(set(nodes)))
            if state is not None:
                entries[state.id] = form.entry(state)
        return entries

    def commit(self) -> None:
        """Settle what was staged: the positions move."""
        staged, self._staged = self._staged, {}
        for ledger, (nodes, _) in staged.items():
            for node in nodes:
                ledger.settle(node)
