"""Which input takes over an entry."""

from dataclasses import dataclass, replace

import pytest

from log_shipper.registry.state import REMOVED, FileState
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.inheritance import Inheritance
from log_shipper.shipper.options.inputs import TakeOverConfig
from log_shipper.shipper.options.model import InputConfig

ENTRY = FileState("known", "/logs/a.log", 1, 2, input="old", updated=5.0)


def an_input(input_id: str, path: str = "/logs/*.log", *from_ids: str, takes: bool = False) -> InputSpec:
    take_over = TakeOverConfig(enabled=takes, from_ids=from_ids)
    return InputSpec(InputConfig(id=input_id, paths=(path,), take_over=take_over))


@dataclass(frozen=True)
class Row:
    """The inputs, and which of them has the entry."""

    inputs: tuple[InputSpec, ...]
    heir: str
    state: FileState = ENTRY


DERIVED = replace(ENTRY, input="filestream-0123abcd")
ROWS = {
    "its own": Row((an_input("a", takes=True), an_input("old")), "old"),
    "none without take_over": Row((an_input("a"),), "old"),
    "one with take_over": Row((an_input("a"), an_input("b", takes=True)), "b"),
    "one whose paths match": Row((an_input("a", "/other/*", takes=True), an_input("b", takes=True)), "b"),
    "one that names it": Row(
        (an_input("a", "/logs/*", "x", takes=True), an_input("b", "/logs/*", "old", takes=True)), "b"
    ),
    "the first of several": Row((an_input("a", takes=True), an_input("b", takes=True)), "a"),
    "of derived ids": Row((an_input("a"), an_input("log-89abcdef-2")), "log-89abcdef-2", DERIVED),
    "not of a derived id and another": Row((an_input("log-89abcdef"),), "old"),
    "one whose id was written, of a derived one": Row((an_input("a"),), DERIVED.input, DERIVED),
    "an imported one": Row((an_input("a"),), "a", replace(ENTRY, input="")),
    "an imported one of other paths": Row((an_input("a", "/other/*"),), "", replace(ENTRY, input="")),
    "one of no file": Row((an_input("a", takes=True),), "a", replace(ENTRY, ended=REMOVED)),
    "a path that is none": Row((an_input("a", "\0", takes=True),), "old"),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_an_entry_has_one_input(row: Row) -> None:
    (state,) = Inheritance({spec.id: spec for spec in row.inputs}).distributed([row.state])
    assert state == replace(row.state, input=row.heir)


def test_an_input_that_comes_and_goes_does_not_resume_for_a_derived_id() -> None:
    container = replace(an_input("log-89abcdef"), comes_and_goes=True)
    (state,) = Inheritance({container.id: container}).distributed([DERIVED])
    assert state is DERIVED


def test_an_input_takes_over_the_newest_entry_of_a_file_that_it_has_none_of() -> None:
    older, newer = replace(ENTRY, id="older", input="before", updated=1.0), ENTRY
    heir = an_input("a", takes=True)
    assert Inheritance({heir.id: heir}).distributed([older, newer]) == [older, replace(newer, input="a")]
    own = replace(ENTRY, id="own", input="a", updated=0.0)
    assert Inheritance({heir.id: heir}).distributed([older, newer, own]) == [own, older, newer]
