"""Show a source to the monitor's thread. It only reads: the loop does nothing for it."""

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from log_shipper.shipper.inputs.files.reading.harvester import Harvester


@dataclass(frozen=True, slots=True)
class Observation:
    """The figures of a source. `running`: open files; `draining`: closed files with batches in flight. `waiting`: files
    that wait to be opened, `bytes_waiting` their bytes. `behind_of_feed`: unacknowledged bytes, or events, of an input
    without files, as far as known. `problems`: the current ones, by path. `fallbacks`: files and directories without a
    watch, which are scanned. `reads`: number of reads of files."""

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
    def combine(cls, several: "Sequence[Observation]") -> "Observation":
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
