"""What the monitor sees of a source, from a thread of its own. It only reads: the loop does nothing for it."""

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from log_shipper.shipper.inputs.files.reading.harvester import Harvester


@dataclass(frozen=True, slots=True)
class Observation:
    """`running` are the open files, `draining` those closed ones of which batches are in flight. `waiting`: files that
    wait to be opened, `bytes_waiting` their bytes. `behind_of_feed`: bytes, or events, of an input without files that
    are not acknowledged, as far as it knows. `problems`: the current ones, by path. `fallbacks`: files and
    directories that are looked at from time to time, as there is no watch for them. `reads`: how often a file was
    read."""

    running: Sequence[Harvester] = ()
    draining: Sequence[Harvester] = ()
    open_of_input: Mapping[str, int] = field(default_factory=dict)
    waiting: int = 0
    bytes_waiting: int = 0
    problems: Mapping[str, str] = field(default_factory=dict)
    behind_of_feed: Mapping[str, int] = field(default_factory=dict)
    watches: int = 0
    fallbacks: int = 0
    reads: int = 0

    @classmethod
    def together(cls, several: "Sequence[Observation]") -> "Observation":
        open_of_input: Counter[str] = Counter()
        for observation in several:
            open_of_input.update(observation.open_of_input)
        return cls(
            running=[harvester for observation in several for harvester in observation.running],
            draining=[harvester for observation in several for harvester in observation.draining],
            open_of_input=open_of_input,
            waiting=sum(observation.waiting for observation in several),
            bytes_waiting=sum(observation.bytes_waiting for observation in several),
            problems=ChainMap(*(dict(observation.problems) for observation in several)),
            behind_of_feed=dict(ChainMap(*(dict(observation.behind_of_feed) for observation in several))),
            watches=sum(observation.watches for observation in several),
            fallbacks=sum(observation.fallbacks for observation in several),
            reads=sum(observation.reads for observation in several),
        )
