"""Track which open files may be closed, by what happened to them: the others need no check.

A file can be closed when it was read to its end, or when its last batch was acknowledged: then it is noted.
"""

from collections import OrderedDict
from collections.abc import Iterator

from log_shipper.shipper.inputs.files.reading.harvester import Harvester


class IdleFiles:
    """Used by the reading thread only."""

    def __init__(self) -> None:
        self._changed: dict[Harvester, None] = {}  # to be closed, and may be now
        # The other files, by input, that were at their end with nothing in flight when they were noted.
        self._idle: dict[str, OrderedDict[Harvester, None]] = {}

    def expect(self, harvester: Harvester) -> None:
        """Note a file that is to be closed as soon as possible."""
        harvester.is_leaving = True
        self._changed[harvester] = None

    def look_again(self, harvester: Harvester) -> None:
        """Note a file that could not be closed when it should have been."""
        self._changed[harvester] = None

    def add(self, harvester: Harvester) -> None:
        """Note a file that was read to its end, or has nothing in flight any more."""
        if harvester.is_leaving:
            self._changed[harvester] = None
        if harvester.over:
            idle = self._idle.setdefault(harvester.source.input_id, OrderedDict())
            idle[harvester] = None
            idle.move_to_end(harvester)

    @property
    def any_changed(self) -> bool:
        return bool(self._changed)

    def take_changed(self) -> list[Harvester]:
        """Return the files to be closed that were noted since the last call."""
        changed, self._changed = list(self._changed), {}
        return changed

    def take_idle(self, input_id: str) -> Iterator[Harvester]:
        """Yield the idle files of an input, the longest idle first. The caller closes each; a file that stays open is
        noted again when something happens to it."""
        idle = self._idle.get(input_id)
        while idle:
            harvester, _ = idle.popitem(last=False)
            if harvester.over:
                yield harvester

    def forget(self, harvester: Harvester) -> None:
        self._changed.pop(harvester, None)
        input_id = harvester.source.input_id
        idle = self._idle.get(input_id)
        if idle is not None:
            idle.pop(harvester, None)
            if not idle:
                del self._idle[input_id]
