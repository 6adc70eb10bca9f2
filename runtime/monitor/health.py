"""The health of a program: its state, as text, and since when."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

State = Literal["ok", "degraded", "failing", "starting"]


@dataclass(frozen=True, slots=True)
class Health:
    """The health. `warnings`: current problems, also those that the text leaves out. `since`: unix time, None until a
    `StateClock` has seen it.
    """

    state: State
    text: str
    warnings: int = 0
    since: float | None = None

    def document(self) -> dict[str, Any]:
        return asdict(self)


class StateClock:
    """Records since when the state is unchanged. Call `timed` whenever the health is judged, even if no one looks;
    callable from any thread.
    """

    def __init__(self) -> None:
        self._seen: tuple[State | None, float] = (None, 0.0)

    def timed(self, health: Health, now: float) -> Health:
        if self._seen[0] != health.state:
            self._seen = health.state, now
        return replace(health, since=self._seen[1])
