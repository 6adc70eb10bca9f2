"""Events against a naive model: each event one whole dictionary of its own. Random changes, of all events or of some,
must end in the same records, and leave what the files share as it was."""

import json
import random
from typing import Any

from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.chain import EventByEvent, run
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, path_of, roots
from tests.builders import messages, nothing, source
from tests.model.seeds import for_each_seed
from tests.processing import records

STATIC: Doc = {"tags": ["a"], "fields": {"env": "prod", "deep": {"n": 1}}}
NAMES = [
    path_of(name)
    for name in (
        "a",
        "a.b",
        "a.b.c",
        "fields",
        "fields.env",
        "fields.deep.n",
        "fields.new.x",
        "tags",
        "host",
        "host.name",
        "message",
        "log.level",
        "log.x.y",
        "log.file.path",
        "log.file.owner.x",
        "ecs",
        "agent.id",
        "@metadata._id",
    )
]
VALUES: list[Any] = ["text", "", 1, None, {"b": 1}, {"x": {"y": [1]}}, [], ["a"]]
FILES = 3


class Change:
    """Put a value, delete a field, or copy one to another."""

    def __init__(self, chance: random.Random) -> None:
        self.kind = chance.choice(["put", "put", "delete", "copy"])
        self.source, self.to = chance.choice(NAMES), chance.choice(NAMES)
        self.value = chance.choice(VALUES)
        self.touches = roots(self.source, self.to)

    def apply(self, event: Event) -> None:
        if self.kind == "put":
            event.put(self.to, copied(self.value))
        elif self.kind == "delete":
            event.delete(self.to)
        elif (value := event.get(self.source)) is not MISSING:
            event.put(self.to, copied(value))

    def naive(self, record: Doc) -> None:
        if self.kind == "put":
            _put(record, self.to, self.value)
        elif self.kind == "delete":
            above = _get(record, self.to[:-1])
            if isinstance(above, dict):
                above.pop(self.to[-1], None)
        elif (value := _get(record, self.source)) is not MISSING:
            _put(record, self.to, copied(value))

    def __repr__(self) -> str:
        return f"{self.kind} {self.source} {self.to} {self.value}"


def _get(node: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(node, dict) or name not in node:
            return MISSING
        node = node[name]
    return node


def _put(record: Doc, path: Path, value: Any) -> None:
    node: Any = record
    for name in path[:-1]:
        node = node.setdefault(name, {}) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        raise ProcessorError
    node[path[-1]] = copied(value)


def naively(change: Change, record: Doc) -> None:
    try:
        change.naive(record)
    except ProcessorError:
        record["error"] = True


def comparable(record: Doc) -> Doc:
    return {name: True if name == "error" else value for name, value in record.items()}


@for_each_seed(150)
def test_random_changes_end_as_in_the_naive_model(seed: int) -> None:
    chance = random.Random(seed)
    file = source(static=copied(STATIC))
    untouched = json.dumps(file.constants.members)
    steps = [Change(chance) for _ in range(12)]
    owners = [EventByEvent("change", step, Metrics()) for step in steps]
    for number in range(FILES):
        batch = Batch(file, messages([f"text {number}", "b", "c"]), 0.0, nothing)
        naive, events = records(batch), Events(batch)
        for step, owner in zip(steps, owners, strict=True):
            at = range(3) if chance.random() < 0.6 else sorted(chance.sample(range(3), 2))
            run([owner], events, at)
            for index in at:
                naively(step, naive[index])
        events.finish()
        assert [comparable(record) for record in records(batch)] == naive, (number, steps)
    assert json.dumps(file.constants.members) == untouched
