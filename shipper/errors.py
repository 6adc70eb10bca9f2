"""The tree of what can go wrong while files are read.

    ShipperError
    ├── Truncated        the bytes before the position are not those that were read: the file's life has ended
    │   └── Disproved    before anything was read of it: it is another file than the one that its entry remembers
    └── StartError       the agent cannot start: what, where, and what to do

Kafka's errors are sorted at the output's door (output/kafka_errors.py) and never travel further in.
"""


class ShipperError(Exception):
    pass


class Truncated(ShipperError):
    """A file is shorter than what was read of it, or was rewritten in place. `size` is its size now, in bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"truncated to {size} bytes or rewritten")
        self.size = size


class Disproved(Truncated):
    """A file does not hold what was shipped of the file for which it was taken."""


class StartError(ShipperError):
    """The message is for the person who starts the agent."""
