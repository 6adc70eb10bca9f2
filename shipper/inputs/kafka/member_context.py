"""Hold what the parts of a member share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Partition
from log_shipper.shipper.inputs.kafka.problems import MemberProblems
from log_shipper.shipper.inputs.kafka.starts import StartOffset


@dataclass(frozen=True, slots=True)
class MemberContext:
    """The collaborators of the member's thread, except its clients. `make_partition` makes the shared object of a
    partition. `commits`: False if the output's transactions commit the offsets. `once`: read only existing records.
    `wake` wakes the reading thread. `new_topics`: topics created, or re-created, after this member looked for them."""

    config: KafkaInputConfig
    make_partition: Callable[[StartOffset], Partition]
    problems: MemberProblems
    clock: Clock
    commits: bool = True
    once: bool = False
    wake: Callable[[], None] = lambda: None
    new_topics: set[str] = field(default_factory=set)
