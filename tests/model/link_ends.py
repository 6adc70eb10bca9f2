"""What happened at the ends of links since the agent certainly looked there.

A model that asks only for what the agent has opened, as this one did, lets it find a new target whenever it likes: what
it has not seen when the next rotation comes is then never owed. So what is at the end of a link must be open a moment
after it came there, and what came and went between two looks must be counted.
"""

ENOUGH = 0.1  # seconds, several times the pause between two scans,
LOOKS = 4  # and so many steps: a new watch asks for another scan


class LinkEnds:
    """`missed`: files that the agent must have counted."""

    def __init__(self) -> None:
        self.missed = 0
        self._is_settled = False  # the agent watches all places, and has opened what is there
        self._unseen = 0  # targets since then, of which the last one is there

    def changed(self) -> None:
        """Note that a link leads elsewhere: the agent may have no watch there yet."""
        self._is_settled = False
        self._unseen = 0

    def rotated(self, times: int) -> None:
        if self._is_settled:
            self._unseen += times

    def agent_ran(self, pauses: tuple[float, ...]) -> bool:
        """Return True if it ran long enough to have opened what is there."""
        self.missed += max(self._unseen - 1, 0) if self._is_settled and len(pauses) > 0 else 0
        self._unseen = 0
        self._is_settled = len(pauses) >= LOOKS and min(pauses) >= 0.02 and sum(pauses) >= ENOUGH
        return self._is_settled

    def agent_ended(self) -> None:
        self.changed()
