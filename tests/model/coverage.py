"""Checks that all of each life has arrived."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.model.lives import Life, Lives
from tests.model.readings import Reading


@dataclass
class Received:
    """What arrived under one file id: its messages by offset."""

    life: Life
    messages: dict[int, tuple[int, str]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)  # where each message ends in the life, by offset
    last: int = -1
    end: int = 0


class Coverage:
    """`ids`: what arrived, by file id. `continued_bytes`: how many bytes of a life's head are the end of another one's
    message. `was_altered`: True if other bytes may have arrived under the same id since. `cuts_at_stop`: True if an
    unfinished last line is shipped as far as it is there when the agent stops."""

    def __init__(
        self,
        ids: Mapping[str, Received],
        lives: Lives,
        reading: Reading,
        continued_bytes: Callable[[Life], int],
        was_altered: Callable[[Life], bool],
        cuts_at_stop: Callable[[], bool],
    ) -> None:
        self._ids = ids
        self._lives = lives
        self._reading = reading
        self._continued_bytes = continued_bytes
        self._was_altered = was_altered
        self._cuts_at_stop = cuts_at_stop

    def missing(self, *, unfinished_too: bool = False) -> list[str]:
        """Describe each life whose messages do not tile what is owed of it."""
        return [problem for life in self._lives.all if (problem := self._missing(life, unfinished_too))]

    def _missing(self, life: Life, unfinished_too: bool) -> str:
        content = bytes(life.content)
        owed = content if life.owed is None else content[: life.owed]
        whole = unfinished_too and life.owed is None
        end = max(len(content) if whole else self._reading.line_end(owed), life.arrived)
        # A last line that was cut at a stop may be that of a copy; here it may have been whole, and dropped as that.
        first, *others = [self._untiled(life, end, cut_at_stop=cut) for cut in (True, False)]
        return first if all(others) else ""

    def _untiled(self, life: Life, end: int, *, cut_at_stop: bool) -> str:
        content = bytes(life.content)
        # The first lines may belong to a message that was dropped, also where a copy shipped some of them alone.
        position = len(content) - len(self._reading.shippable(content, at_start=True))
        for start, stop in sorted(self.spans(life, cut_at_stop=cut_at_stop)):
            if start > position and self._reading.shippable(content[position:start]):
                break
            position = max(position, stop)
        # In a .gz a line without an end is one, and its message may be dropped for what that has.
        is_dropped = life.packed and not self.shippable(life, position, len(content))
        if self.shippable(life, position, end) and not is_dropped:
            return f"{life}: missing from {position} on: {content[position:end][:60]!r}"
        return ""

    def shippable(self, life: Life, start: int, end: int) -> bytes:
        """Return those of these bytes that would have become events.

        The last message may continue in another file, and be dropped for what it has there.
        """
        unread = self._reading.shippable(bytes(life.content[start:end]), at_start=not start)
        heads = {self._reading.head(bytes(other.content)) for other in self._lives.all} if unread else set()
        return b"" if any(not self._reading.shippable(unread + head) for head in heads) else unread

    def spans(self, life: Life, *, cut_at_stop: bool = True) -> list[tuple[int, int]]:
        """Return what arrived of a life, and of its copies where they are equal: whole lines, or all up to its end, and
        with `cut_at_stop` lines that a stop may have cut."""
        spans = [(0, max(map(self._continued_bytes, [life, *self._lives.twins(life)])))]
        may_be_cut = cut_at_stop and self._cuts_at_stop()
        if self._was_altered(life):
            spans.append((0, life.arrived))
        for received in self._ids.values():
            if received.life is life:
                spans += received.ends.items()
            elif received.life.root is life.root:
                ours, theirs = bytes(life.content), bytes(received.life.content)
                spans += [
                    (start, end)
                    for start, end in received.ends.items()
                    if start < len(ours)
                    and ours[start:end] == theirs[start : min(end, len(ours))]
                    and (end >= len(ours) or end == self._reading.line_end(ours[:end]) or may_be_cut)
                ]
        return spans
