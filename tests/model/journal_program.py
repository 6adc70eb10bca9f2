"""Programs of what happens to the journals of several hosts in one directory, and to the agent that ships them."""

import random
from dataclasses import dataclass

from tests.model.program import Action

HOSTS = "abc"
DELAYS = (0.0, 0.0, 0.15, 0.15, 5.0, 3600.0)  # seconds; what was written during an outage comes an hour late
ACTIONS = [
    *("log",) * 8,
    *("run",) * 6,
    *("step",) * 3,
    *("read",) * 3,
    *("children",) * 2,
    *("acknowledge",) * 4,
    *("rotate",) * 3,
    *("vacuum",) * 2,
    "boot",
    "remove",
    "end_children",
    "kill",
    "stop",
    "pause",
]


@dataclass(frozen=True)
class JournalProgram:
    """`filtered`: the input has a filter, which all entries pass."""

    seed: object
    filtered: bool
    actions: list[Action]

    def __str__(self) -> str:
        lines = [
            f"JournalProgram({self.seed!r}, {self.filtered}, [",
            *(f"    {action}," for action in self.actions),
            "])",
        ]
        return "\n".join(lines)


def generate(seed: int) -> JournalProgram:
    dice = random.Random(f"journals {seed}")
    actions: list[Action] = []
    for _ in range(dice.randrange(5, 40)):
        name = dice.choice(ACTIONS)
        match name:
            case "log":
                actions.append((name, dice.choice(HOSTS), dice.choice((1, 1, 3, 8, 30)), dice.choice(DELAYS)))
            case "rotate" | "vacuum" | "boot" | "remove":
                actions.append((name, dice.choice(HOSTS)))
            case "run":
                actions.append((name, dice.choice((1, 2, 5, 20))))
            case "acknowledge":
                actions.append((name, dice.randrange(10)))
            case "pause":
                actions.append((name, dice.choice((0.1, 1.0, 61.0))))
            case _:
                actions.append((name,))
    return JournalProgram(seed, dice.random() < 0.3, actions)
