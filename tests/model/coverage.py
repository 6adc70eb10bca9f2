"""Whether all of each life has arrived."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.model.lives import Life, Lives
from tests.model.readings import Reading


@dataclass
class Told:
    """What came under one file id: messages by offset, and the bytes of other lives that were joined to them."""

    life: Life
    messages: dict[int, tuple[int, str]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)  # where each ends in the life, by offset
    last: int = -1
    end: int = 0


class Coverage:
    """`ids`: what came, by file id; `joined_to`: how many bytes of a life's head are the end of a message of another;
    `was_altered`: whether other bytes may have come under the same id since."""

    def __init__(
        self,
        ids: Mapping[str, Told],
        lives: Lives,
        reading: Reading,
        joined_to: Callable[[Life], int],
        was_altered: Callable[[Life], bool],
    ) -> None:
        self._ids = ids
        self._lives = lives
        self._reading = reading
        self._joined_to = joined_to
        self._was_altered = was_altered

    def missing(self, *, unfinished_too: bool = False) -> list[str]:
        """Each life whose messages do not tile what is owed of it, and how."""
        return [problem for life in self._lives.all if (problem := self._missing(life, unfinished_too))]

    def _missing(self, life: Life, unfinished_too: bool) -> str:
        content = bytes(life.content)
        owed = content if life.owed is None else content[: life.owed]
        whole = unfinished_too and life.owed is None
        end = max(len(content) if whole else self._reading.line_end(owed), life.arrived)
        position = 0
        for start, stop in sorted(self.spans(life)):
            if start > position and self._reading.rest(content[position:start], at_start=not position):
                break
            position = max(position, stop)
        # In a .gz a line without an end is one, and its message may be dropped for what that has.
        is_dropped = life.packed and not self.rest(life, position, len(content))
        if self.rest(life, position, end) and not is_dropped:
            return f"{life}: missing from {position} on: {content[position:end][:60]!r}"
        return ""

    def rest(self, life: Life, start: int, end: int) -> bytes:
        """What of these bytes would have given an event. The last message may go on in another file, and be dropped for
        what it has there."""
        rest = self._reading.rest(bytes(life.content[start:end]), at_start=not start)
        heads = {self._reading.head(bytes(each.content)) for each in self._lives.all} if rest else set()
        return b"" if any(not self._reading.rest(rest + head) for head in heads) else rest

    def spans(self, life: Life) -> list[tuple[int, int]]:
        """What arrived of a life, and what of it arrived of a copy: whole lines, or all up to where it ends."""
        found = [(0, max(map(self._joined_to, [life, *self._lives.twins(life)])))]
        if self._was_altered(life):
            found.append((0, life.arrived))
        for told in self._ids.values():
            if told.life is life:
                found += told.ends.items()
            elif told.life.root is life.root:
                ours, theirs = bytes(life.content), bytes(told.life.content)
                found += [
                    (start, end)
                    for start, end in told.ends.items()
                    if start < len(ours)
                    and ours[start:end] == theirs[start : min(end, len(ours))]
                    and (end >= len(ours) or end == self._reading.line_end(ours[:end]))
                ]
        return found
