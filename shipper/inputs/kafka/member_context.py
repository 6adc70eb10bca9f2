"""What the parts of a member have in common."""

from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Partition
from log_shipper.shipper.inputs.kafka.problems import Problems
from log_shipper.shipper.inputs.kafka.starts import Start


@dataclass(frozen=True, slots=True)
class MemberContext:
    """What the member's thread needs beside its clients. `make_partition` makes what is read of a partition. `commits`:
    False where the offsets are committed by the output's transactions. `once`: what is there now is read. `wake` wakes
    the reading thread. `new_topics`: what was made, or made again, after this member looked for it."""

    config: KafkaInputConfig
    make_partition: Callable[[Start], Partition]
    problems: Problems
    clock: Clock
    commits: bool = True
    once: bool = False
    wake: Callable[[], None] = lambda: None
    new_topics: set[str] = field(default_factory=set)
