"""Whatever is put, delivered, killed and torn, the queue on disk delivers what its sources may have forgotten, in
order, within its bounds of memory and disk."""

import random
from pathlib import Path

from log_shipper.shipper.pipeline.disk_queue.options import QueueOptions
from tests.model.seeds import for_each_seed
from tests.queue_lab import QueueLab


class Program:
    """Random actions, and the naive model: the numbers that were put, in order, and those that had arrived before."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.dice = dice = random.Random(seed)
        options = QueueOptions(
            flush=dice.choice((0.0, 0.1, 1.0)),
            read_ahead=dice.choice((1, 5, 50)),
            write_ahead=dice.choice((2, 1000)),
            is_written_first=dice.random() < 0.3,
        )
        max_size = dice.choice((0, 0, 4000))
        self.lab = QueueLab(
            directory,
            options,
            events=dice.choice((1, 8, 60)),
            max_size=max_size,
            segment_size=dice.choice((1, 900, 9000)),
        )
        self.put: list[str] = []
        self.before: list[str] = []  # arrived in lives that have ended

    def act(self) -> None:
        dice, lab = self.dice, self.lab
        match dice.choices(("put", "step", "deliver", "kill"), (6, 4, 3, 0.3))[0]:
            case "put":
                for _ in range(dice.choice((1, 1, 8))):
                    if lab.queue.has_room:
                        self.put.append(f"{len(self.put)}")
                        text = self.put[-1]
                        lab.put(text, *[text] * dice.randrange(3), repeatable=dice.random() < 0.5)
            case "step":
                lab.step(dice.choice((0.0, 0.01, 0.2, 3.0, 40.0)), write=dice.random() < 0.8)
            case "deliver":
                lab.deliver(dice.randrange(len(lab.in_flight) + 1))
            case "kill":
                self._kill()
        waiting = lab.memory.reserved_events
        assert lab.memory.events <= lab.events + 6, "memory is bounded"
        assert waiting <= lab.events // 4 + 6
        assert not lab.max_size or lab.store.bytes <= lab.max_size

    def _kill(self) -> None:
        """Kill the process. A group that was being written may be there by half."""
        lab = self.lab
        self._check_order()
        self.before += lab.arrived
        lab.arrived.clear()
        newest = max(lab.directory.glob("*.seg"), default=None)
        if newest is not None and self.dice.random() < 0.5:
            whole = newest.read_bytes()
            part = whole[36 : 36 + self.dice.randrange(len(whole))]
            newest.write_bytes(whole + part[: self.dice.randrange(len(part) + 1) % 100])
        lab.kill()

    def _check_order(self) -> None:
        """Check that what arrives in one life is in the order in which it was put; events of a batch are side by
        side."""
        numbers = [int(text) for text in self.lab.arrived]
        assert numbers == sorted(numbers)

    def check(self) -> None:
        lab = self.lab
        lab.drain()
        self._check_order()
        arrived = {*self.before, *lab.arrived}
        assert set(lab.resolved) <= arrived, "a source forgot what was not delivered"
        assert lab.lost.events == 0
        assert lab.position == lab.queue.sequence
        assert (lab.memory.events, lab.memory.bytes, lab.memory.reserved_events) == (0, 0, 0)
        for _ in range(4):
            lab.step(20)
        assert lab.store.bytes == 0
        lab.close()


@for_each_seed(150)
def test_what_its_sources_may_have_forgotten_is_delivered_in_order(seed: int, tmp_path: Path) -> None:
    program = Program(tmp_path, seed)
    for _ in range(150):
        program.act()
    program.check()
