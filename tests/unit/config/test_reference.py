from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest

import config
from config.load import load
from config.model import ShipperConfig
from config.reference import main, reference
from config.schema import Kinds, options
from config.sink import SinkConfig
from config.units import Duration, DurationOrNever, Size


@dataclass(frozen=True)
class Part:
    wait: Duration = field(default=90.0, metadata={"doc": "Waits."})
    room: Size = field(default=2 * 1024**2, metadata={"doc": "Room."})


@dataclass(frozen=True)
class Whole:
    name: str = field(metadata={"doc": "Name.", "key": ("a.name", "b.name")})
    part: Part = field(default_factory=Part)
    parts: tuple[Part, ...] = field(default=(), metadata={"doc": "Parts."})
    side: Literal["left", "right"] = field(default="left", metadata={"doc": "Side."})
    many: int | None = field(default=None, metadata={"doc": "Many.", "unit": "wheels"})
    on: bool = field(default=True, metadata={"doc": "On."})


def test_the_table_tells_name_type_default_and_meaning():
    assert reference(Whole).splitlines() == [
        "| option | type | default | |",
        "|---|---|---|---|",
        "| `a.name` | text | required | Name. Also `b.name`. |",
        "| `part.wait` | duration | `90s` | Waits. |",
        "| `part.room` | size | `2MiB` | Room. |",
        "| `parts` | list of section |  | Parts. |",
        "| `parts[].wait` | duration | `90s` | Waits. |",
        "| `parts[].room` | size | `2MiB` | Room. |",
        "| `side` | `left`, `right` | `left` | Side. |",
        "| `many` | number of wheels |  | Many. |",
        "| `on` | true or false | `true` | On. |",
    ]


@dataclass(frozen=True)
class Small:
    kind: str = field(default="small", metadata={"doc": "Kind."})
    depth: int = field(default=1, metadata={"doc": "Depth."})


@dataclass(frozen=True)
class Large:
    kind: str = field(default="large", metadata={"doc": "Kind."})
    depth: int = field(default=1, metadata={"doc": "Depth."})
    wait: DurationOrNever = field(default=0.0, metadata={"doc": "Waits."})
    side: Annotated[Literal["", "left"], str] = field(default="", metadata={"doc": "Side."})


@dataclass(frozen=True)
class Box:
    parts: tuple[Part, ...] = field(default=(), metadata={"read_as": Kinds("kind", {"small": Small, "large": Large})})


def test_what_is_the_same_in_several_kinds_is_told_once():
    assert reference(Box).splitlines()[2:] == [
        "| `parts[].kind` | text | `small` | Kind. (`kind: small`) |",
        "| `parts[].depth` | number | `1` | Depth. |",
        "| `parts[].kind` | text | `large` | Kind. (`kind: large`) |",
        "| `parts[].wait` | duration | `0s` | Waits. (`kind: large`) |",
        "| `parts[].side` | `left` |  | Side. (`kind: large`) |",
    ]


def undocumented(model):
    for option in options(model):
        if option.section:
            for each in option.kinds.models.values() if option.kinds else [option.section]:
                yield from undocumented(each)
        elif not option.about.get("doc", "").endswith("."):
            yield f"{model.__name__}.{option.name}"


@pytest.mark.parametrize("model", [ShipperConfig, SinkConfig])
def test_every_option_is_documented_in_a_sentence(model):
    assert list(undocumented(model)) == []


def test_both_references_are_written_and_each_alone(capsys):
    assert main([]) == 0
    both = capsys.readouterr().out
    assert main(["sink"]) == 0
    sink = capsys.readouterr().out
    assert both.startswith("## shipper.yml\n\n| option |")
    assert both.endswith(sink)
    assert "| `kafka.hosts` |" in sink


def test_a_reference_of_something_else_is_refused(capsys):
    assert main(["toaster"]) == 2
    assert capsys.readouterr().err == "no reference of 'toaster'; there are: shipper, sink\n"


def test_the_configuration_that_we_ship_loads_and_is_short():
    file = Path(config.__file__).with_name("shipper.yml")
    loaded = load(file, ShipperConfig, env={})
    assert loaded.output.chosen is loaded.output.kafka
    assert len(file.read_text().splitlines()) <= 10
