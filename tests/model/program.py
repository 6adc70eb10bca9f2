"""Programs of actions as data: what happens to the files of a host, and to the agent that ships them, from a seed.

An action that cannot be done (its file does not exist) does nothing, so any part of a program is a program too, and a
failing one can be made shorter by leaving actions out.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.model import readings
from tests.model.readings import READINGS, Reading

# Templates of lines; {n} is another number each time, so that no two files are equal unless one is a copy.
LINES = [
    "{n} one\n",
    "{n} a second line\n",
    " {n} indented\n",
    "\t{n} more\n",
    "\n",
    "{n} zwölf €\n",
    "{n} last\r\n",
    "{n} " + "x" * 300 + "\n",
]
OTHERWISE = 1_000_000
NAMES = ["a.log", "b.log"]
GENERATIONS = 5
DIRECTORIES = [".", "sub"]
INDENTED = (2, 3)  # of LINES: they continue a message
PAUSES = [0, 0.001, 0.005, 0.1, 3, 11, 90]

Action = tuple[Any, ...]  # its name, and arguments


@dataclass(frozen=True)
class Program:
    """`options` set up agent and files; `actions` then happen in turn. `read_as` is one of READINGS; without one, lines
    are messages, or are joined with option `multiline`."""

    seed: object
    options: dict[str, bool]
    actions: list[Action]
    read_as: str | None = None

    @property
    def reading(self) -> Reading:
        plain = readings.MULTILINE if self.options["multiline"] else readings.LINES
        return plain if self.read_as is None else READINGS[self.read_as]

    def __str__(self) -> str:
        last = "])" if self.read_as is None else f"], {self.read_as!r})"
        lines = [f"Program({self.seed!r}, {self.options}, [", *(f"    {action}," for action in self.actions), last]
        return "\n".join(lines)


def generate(seed: int) -> Program:
    """Return the program of a seed; from `OTHERWISE` on with one of READINGS."""
    dice = random.Random(f"files {seed}")
    options = {
        name: dice.random() < 0.5 for name in ("multiline", "symlinks", "gzip", "header", "flush_at_once", "disk")
    }
    # Two files cannot be distinguished by equal headers that are longer than the fingerprint, or that are sent alone.
    options["header"] &= not options["multiline"] and seed < OTHERWISE
    actions: list[Action] = []
    for _ in range(dice.randrange(5, 50)):
        actions += _burst(dice, options)
    read_as = dice.choice(list(READINGS)) if seed >= OTHERWISE else None
    own_dice = random.Random(f"recognition {seed}")  # so that the programs of other options stay what they are
    bounds_dice = random.Random(f"bounds {seed}")  # for the same reason
    options |= {"full": bounds_dice.random() < 0.2, "few": bounds_dice.random() < 0.15}
    options |= {"resend": own_dice.random() < 0.15, "growing": own_dice.random() < 0.2}
    if options["few"]:  # files are met in any order then: nothing shows the place of a name of another kind
        actions = [action for action in actions if action[0] not in _DATED]
    if options["resend"]:
        for _ in range(own_dice.randrange(1, 8)):
            actions.insert(own_dice.randrange(len(actions) + 1), ("touch", *_any(own_dice)))
    if options["growing"]:  # a file that begins as a deleted one did may be the same
        actions = [action for action in actions if action[0] not in _OF_EQUAL_FILES]
    link_dice = random.Random(f"links {seed}")
    options["links"] = link_dice.random() < 0.2
    if options["links"]:
        options["symlinks"] = True
        for _ in range(link_dice.randrange(1, 6)):
            actions[(place := link_dice.randrange(len(actions) + 1)) : place] = _at_links(link_dice)
    rewrite_dice = random.Random(f"rewrite {seed}")
    if rewrite_dice.random() < 0.4:
        for _ in range(rewrite_dice.randrange(1, 5)):
            place = rewrite_dice.randrange(len(actions) + 1)
            actions[place:place] = _rewrite(rewrite_dice)
    if own_dice.random() < 0.3:  # there are older generations at the first start
        options["present"] = True
        actions = [
            *[("write", "a.log", tuple(own_dice.choices(range(5), k=3))), ("rotate", "a.log")]
            * own_dice.choice([1, 2]),
            ("write", "a.log", (0, 1)),
            ("run", (0.1,)),
            *actions,
        ]
    options["until_eof"] = random.Random(f"stop {seed}").random() < 0.2
    down_dice = random.Random(f"down {seed}")
    if options["gzip"] and down_dice.random() < 0.3:
        for _ in range(down_dice.randrange(1, 4)):
            place = down_dice.randrange(len(actions) + 1)
            actions[place:place] = _compressed_while_down(down_dice, may_be_dated=not options["few"])
    return Program(seed, options, actions, read_as)


def _at_links(dice: random.Random) -> list[Action]:
    """Return actions at the ends of links, which an agent that waits for its next scan would miss."""
    actions: list[Action] = []
    for _ in range(dice.randrange(1, 8)):
        kind = dice.choice(["rotate_target", "rotate_target", "lead", "relink", "swap", "write_linked", "write_led"])
        which, times, kinds = dice.randrange(3), dice.choice([1, 1, 2, 3]), _write(dice)[2]
        match kind:
            case "rotate_target":
                actions.append((kind, times, kinds))
            case "write_linked":
                actions.append(("write", "current.log", kinds))
            case "write_led":
                actions.append((kind, kinds))
            case "swap":
                actions.append((kind, which))
            case _:
                actions.append((kind, tuple(dice.randrange(3) for _ in range(times))))
        if dice.random() < 0.7:
            actions.append(("run", tuple(dice.choice([0.03, 0.05, 0.1, 0.5]) for _ in range(dice.randrange(1, 8)))))
    return actions


def _burst(dice: random.Random, options: dict[str, bool]) -> list[Action]:
    """Return one action, or a few that belong together, so that the agent runs for most of the program."""
    kinds = [kind for kind in _KINDS if options.get(_NEEDS.get(kind, ""), True)]
    kind = dice.choices(kinds, [_KINDS[kind][0] for kind in kinds])[0]
    actions = [_KINDS[kind][1](dice)]
    if kind in ("recreate_as", "restore") and dice.random() < 0.5:
        # Else hardly any file is so large that its head and tail are not all of it.
        actions = [("write_much", actions[0][1], 20), _run(dice), *actions]
    if kind.startswith("rotate") and dice.random() < 0.5:
        # So that messages lie over two files and more, in whatever way each of them is rotated.
        name = actions[0][1]
        # Rotations of one log were never so close to each other, and of a message no more than its end was in the next
        # file: a message over three files, and one that is continued in a file that was rotated too, did not occur.
        for _ in range(dice.choice([1, 1, 2])):
            lines = (*dice.choices(INDENTED, k=dice.randrange(1, 3)), *dice.choice([(), (), (0, 1)]))
            actions.append(("write", name, lines))
            other = dice.choice([rotation for rotation in _ROTATIONS if rotation in kinds])
            again = _KINDS[other][1](dice)
            actions += [("run", (dice.choice(PAUSES[:4]),)), (other, name, *again[2:])][dice.randrange(2) :]
            if other == "rotate" and "gzip" in kinds and dice.random() < 0.5:
                actions += [("gzip", name, generation) for generation in dice.choice([(1,), (2,), (1, 2)])]
        actions.append(("write", name, (*dice.choices(INDENTED, k=1), 0, 1)))
    if kind in ("stop", "kill"):
        files = [kind for kind in kinds if kind not in _OF_THE_AGENT]
        for _ in range(dice.choice([0, 1, 2, 4])):
            other = dice.choices(files, [_KINDS[kind][0] for kind in files])[0]
            actions.append(_KINDS[other][1](dice))
        actions.append(("start",))
    return actions


def _compressed_while_down(dice: random.Random, *, may_be_dated: bool) -> list[Action]:
    """Return actions after which a message that was pending lies across files that were compressed at once."""
    name, is_dated = _name(dice), may_be_dated and dice.random() < 0.4
    actions: list[Action] = [("write", name, (0, 1)), ("run", (0.005, 0.005)), (dice.choice(["stop", "kill"]),)]
    for _ in range(dice.choice([1, 1, 2, 3])):
        if is_dated:
            actions.append((dice.choice(["gzip_dated", "gzip_dated", "rotate_dated"]), name, dice.choice(DIRECTORIES)))
        else:
            actions += [("rotate", name), *[("gzip", name, 1)] * dice.choice([0, 1, 1])]
        actions.append(("write", name, (*dice.choices(INDENTED, k=1), *dice.choice([(), (0, 1)]))))
    return [*actions, ("start",), ("run", tuple(dice.choices(PAUSES, k=3)))]


def _write(dice: random.Random) -> Action:
    return ("write", _name(dice), tuple(dice.randrange(len(LINES)) for _ in range(dice.randrange(1, 12))))


def _name(dice: random.Random) -> str:
    return dice.choice(NAMES)


def _any(dice: random.Random) -> tuple[str, int]:
    """Return a name and a generation: 0 is the file that is written to, 1 the youngest rotated one."""
    return _name(dice), dice.choice([0, 1, 1, 2, 3])


def _part(dice: random.Random) -> tuple[float, tuple[int, ...]]:
    """Return which part of another file a new one begins with, and the kinds of its own lines behind that."""
    own = _write(dice)[2] if dice.random() < 0.5 else ()
    return dice.choice([0.0, 0.5, 1.0]), own


def _run(dice: random.Random) -> Action:
    return ("run", tuple(dice.choice(PAUSES) for _ in range(dice.randrange(1, 12))))


def _rewrite(dice: random.Random) -> list[Action]:
    name, generation = _any(dice)
    how = dice.choice(["as long", "longer", "shorter"])
    actions: list[Action] = [("rewrite", name, generation, how, _write(dice)[2])]
    if dice.random() < 0.7:  # else hardly any file is so large that its head and tail are not all of it
        # Read, and perhaps closed; with few files open, it waits.
        pauses = dice.choice([(0.005, 0.005), (3, 3), (3, 90, 11)])
        actions = [("write_much", name, 20), ("run", pauses), *actions]
    return actions


Make = Callable[[random.Random], Action]

_OF_THE_AGENT = ("stop", "kill", "run", "settle", "hold", "arrive", "acknowledge")
_DATED = ("rotate_dated", "copytruncate_dated", "gzip_dated")
_ROTATIONS = ("rotate", "copytruncate", *_DATED)
_OF_EQUAL_FILES = ("recreate_as", "create_alike", "restore")
# Weight, and how one is made.
_KINDS: dict[str, tuple[int, Make]] = {
    "run": (24, _run),
    "write": (22, _write),
    "write_partly": (6, lambda dice: ("write_partly", _name(dice), dice.randrange(4))),
    "write_much": (1, lambda dice: ("write_much", _name(dice), dice.choice([100, 600]))),
    "write_linked": (4, lambda dice: ("write", "current.log", _write(dice)[2])),
    "rotate": (4, lambda dice: ("rotate", _name(dice))),
    "rename": (2, lambda dice: ("rename", *_any(dice))),
    "rename_over": (1, lambda dice: ("rename_over", *_any(dice), *_any(dice))),
    "rotate_dated": (2, lambda dice: ("rotate_dated", _name(dice), dice.choice(DIRECTORIES))),
    "copytruncate_dated": (2, lambda dice: ("copytruncate_dated", _name(dice), dice.choice(DIRECTORIES))),
    "gzip_dated": (2, lambda dice: ("gzip_dated", _name(dice), dice.choice(DIRECTORIES))),
    "copytruncate": (3, lambda dice: ("copytruncate", _name(dice))),
    "copy": (1, lambda dice: ("copy", _name(dice))),
    "truncate": (1, lambda dice: ("truncate", _name(dice))),
    "delete": (2, lambda dice: ("delete", *_any(dice))),
    "recreate": (2, lambda dice: ("recreate", *_write(dice)[1:])),
    "move_inside": (1, lambda dice: ("move_inside", *_any(dice))),
    "move_outside": (2, lambda dice: ("move_outside", *_any(dice))),
    "move_back": (2, lambda dice: ("move_back", dice.randrange(3))),
    "link": (1, lambda dice: ("link", *_any(dice))),
    "swap": (3, lambda dice: ("swap", dice.randrange(3))),
    "gzip": (5, lambda dice: ("gzip", _name(dice), dice.choice([1, 1, 2]))),
    "recreate_as": (2, lambda dice: ("recreate_as", *_any(dice), *_part(dice))),
    "create_alike": (2, lambda dice: ("create_alike", *_any(dice), *_part(dice))),
    "restore": (2, lambda dice: ("restore", *_any(dice), dice.choice(["whole", "altered", "shorter"]))),
    "hold": (4, lambda dice: ("hold", dice.random() < 0.6)),
    "arrive": (3, lambda dice: ("arrive", dice.choice([1, 1, 2, 100]))),
    "acknowledge": (4, lambda dice: ("acknowledge", dice.randrange(5))),
    "pause": (2, lambda dice: ("pause", dice.choice([1, 20, 400]))),
    "settle": (1, lambda dice: ("settle",)),
    "stop": (2, lambda dice: ("stop",)),
    "kill": (2, lambda dice: ("kill",)),
}
_NEEDS = {"swap": "symlinks", "write_linked": "symlinks", "gzip": "gzip", "gzip_dated": "gzip"}
