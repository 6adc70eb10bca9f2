"""Whatever happens to the files of the queue on disk, each event that is still there is delivered, in order and once,
and each that is not is counted."""

import random
import shutil
from functools import partial
from pathlib import Path

from log_shipper.shipper.pipeline.disk_queue.frames import FrameScan
from log_shipper.shipper.pipeline.disk_queue.options import QueueOptions
from tests.model.seeds import for_each_seed
from tests.queue_lab import QueueLab

ACTIONS = ("flip", "flip", "cut", "zero", "remove", "duplicate", "swap")  # the last two while no agent runs


class Damaged:
    """A queue of which some is delivered. Its naive model: the bytes of each frame by the text of its events, which are
    numbers, as long as one of the files has them. Of a copy it is only known that nothing is delivered twice: what the
    original has lost is not looked for in it. `runs`: the damage is done while the agent runs."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.dice = dice = random.Random(seed)
        self.directory = directory
        self.runs = dice.random() < 0.3
        self.has_copy = False
        self.lab = lab = QueueLab(
            directory,
            QueueOptions(flush=0, read_ahead=dice.choice((1, 5, 50))),
            events=dice.choice((1, 8, 60)),
            segment_size=dice.choice((1, 900, 9000)),
        )
        self.sizes = dict[str, int]()  # events of each batch
        for number in range(dice.randrange(5, 60)):
            self.sizes[f"{number}"] = 1 + dice.randrange(3)
            lab.put(*[f"{number}"] * self.sizes[f"{number}"])
            if dice.random() < 0.4:
                lab.step(dice.choice((0.0, 0.2)))
            if dice.random() < 0.1:
                lab.deliver(dice.randrange(len(lab.in_flight) + 1))
        lab.step()
        self.frames = self._frames()

    def _frames(self) -> dict[str, bytes]:
        frames = {}
        for segment in self.lab.store.segments:
            data = segment.path.read_bytes()
            for item in FrameScan(partial(self.lab.files.read_at, segment.path), segment.seed, 36, len(data)):
                assert isinstance(item, tuple)
                frame = item[0]
                frames[str(frame.sequence)] = data[frame.offset : frame.end]
        return frames

    def damage(self) -> None:
        for _ in range(self.dice.choice((1, 1, 2, 4))):
            paths = sorted(self.directory.glob("*.seg"))
            if paths:
                self._damage(self.dice.choice(ACTIONS[: 5 if self.runs else 7]), paths)

    def _damage(self, action: str, paths: list[Path]) -> None:
        dice, path = self.dice, self.dice.choice(paths)
        data = bytearray(path.read_bytes())
        match action:
            case "flip":
                for _ in range(dice.choice((1, 3))):
                    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
                path.write_bytes(data)
            case "zero":
                start = dice.randrange(len(data))
                size = min(dice.randrange(1, 400), len(data) - start)
                data[start : start + size] = bytes(size)
                path.write_bytes(data)
            case "cut":
                path.write_bytes(data[: dice.randrange(1, len(data))])
            case "remove":
                for victim in paths[paths.index(path) :][: dice.choice((1, 2, 9))]:
                    victim.unlink()
            case "duplicate":
                self.has_copy = True
                shutil.copy(path, self.directory / f"{dice.randrange(100, 9000)}.seg")
            case "swap":
                other = dice.choice(paths)
                content = other.read_bytes()
                other.write_bytes(path.read_bytes())
                path.write_bytes(content)

    def check(self) -> None:
        lab = self.lab
        before = set(lab.arrived)
        files = [path.read_bytes() for path in self.directory.glob("*.seg")]
        survivors = {text for text, frame in self.frames.items() if any(frame in data for data in files)}
        if not self.runs:
            lab.kill()
        arrived = lab.drain()
        numbers = [int(text) for text in arrived]
        assert numbers == sorted(numbers)
        # What was put is released once it is on disk, so nothing else has it.
        assert self.has_copy or survivors <= set(arrived) | before
        assert all(arrived.count(text) == size for text, size in self.sizes.items() if text in arrived)
        lost = [text for text in self.frames if text not in arrived]
        assert lab.lost.events == sum(self.sizes[text] for text in lost)
        for _ in range(4):
            lab.step(20)
        lab.kill()
        assert (lab.drain(), lab.lost.events) == (arrived, 0)
        lab.close()


@for_each_seed(300)
def test_each_event_is_delivered_or_counted(seed: int, tmp_path: Path) -> None:
    damaged = Damaged(tmp_path, seed)
    damaged.damage()
    damaged.check()
