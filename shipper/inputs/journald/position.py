"""Track the last entry of a journal with everything before it acknowledged.

The ledger counts entries, because a cursor is not a number: each batch is tracked with the cursor of its last entry,
and the saved cursor is the one where the longest acknowledged prefix ends.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from log_shipper.registry.state import FileState
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.staging import MakeStage
from log_shipper.shipper.pipeline.acks import Ledger

MAX_CUTS = 10_000


class JournalPosition:
    """The position in a sequence. Used by the reading thread only, except `behind`. `behind`: bytes read and not
    acknowledged."""

    def __init__(
        self, state: FileState, note: Callable[[FileState], None], clock: Clock, stage: MakeStage | None
    ) -> None:
        self.state = state
        self.behind = 0
        self._note = note
        self._clock = clock
        self._ends: deque[tuple[int, str, int]] = deque()  # position, cursor, bytes
        self._cuts: deque[tuple[int, int]] = deque()  # the position that passes a cut, and its mark
        self._ledger = Ledger(state.position, self._advanced, stage(self.state_at) if stage is not None else None)

    @property
    def open_batches(self) -> int:
        return self._ledger.open_batches

    @property
    def tracked_cursor(self) -> str:
        """Return the cursor of the last tracked entry."""
        return self._ends[-1][1] if self._ends else self.state.cursor

    def track(self, entries: int, cursor: str, size: int) -> Callable[[], None]:
        """Track further entries with their bytes and the cursor of the last one. Return the function that resolves
        them."""
        end = self._ledger.tracked + entries
        self._ends.append((end, cursor, size))
        self.behind += size
        return self._ledger.track(end, self._clock.monotonic())

    def cut(self, mark: int) -> FileState:
        """Keep a mark until everything tracked so far is acknowledged. Return the state to be saved before the last
        batch is sent: a message was ended there by time, and a second reading must end it there too."""
        self._cuts.append((self._ledger.tracked, mark))
        marks = dict.fromkeys((*self.state.cuts, mark))
        self.state = replace(self.state, cuts=tuple(marks)[-MAX_CUTS:])
        return self.state

    def state_at(self, position: int) -> FileState:
        """Return the state to save once everything before `position` is acknowledged."""
        cursor = self.state.cursor
        for end, its_cursor, _ in self._ends:
            if end > position:
                break
            cursor = its_cursor
        passed = {mark for end, mark in self._cuts if end <= position}
        cuts = tuple(mark for mark in self.state.cuts if mark not in passed) if passed else self.state.cuts
        return replace(self.state, position=position, cursor=cursor, cuts=cuts, updated=self._clock.time())

    def update(self, **changes: object) -> FileState:
        self.state = replace(self.state, updated=self._clock.time(), **changes)  # type: ignore[arg-type]
        self._note(self.state)
        return self.state

    def _advanced(self, position: int) -> None:
        self.state = self.state_at(position)
        while self._ends and self._ends[0][0] <= position:
            self.behind -= self._ends.popleft()[2]
        while self._cuts and self._cuts[0][0] <= position:
            self._cuts.popleft()
        self._note(self.state)
