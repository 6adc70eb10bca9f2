from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from log_shipper import config
from log_shipper.config.reference import table
from log_shipper.config.text.units import Duration, DurationOrNever, Size
from log_shipper.config.yaml.load import load
from log_shipper.config.yaml.schema import Kinds, options
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.page import page
from log_shipper.spark_sink.options.model import SinkConfig

DOCS = Path(config.__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Part:
    wait: Duration = field(default=90.0, metadata={"doc": "Waits."})
    room: Size = field(default=2 * 1024**2, metadata={"doc": "Room."})


@dataclass(frozen=True)
class Whole:
    name: str = field(metadata={"doc": "Name.", "key": ("a.name", "b.name")})
    part: Part = field(default_factory=Part)
    told: Part = field(default_factory=Part, metadata={"doc": "Told."})
    parts: tuple[Part, ...] = field(default=(), metadata={"doc": "Parts.", "since": "0.3"})
    side: Literal["left", "right"] = field(default="left", metadata={"doc": "Side."})
    many: int | None = field(default=None, metadata={"doc": "Many.", "unit": "wheels"})
    on: bool = field(default=True, metadata={"doc": "On."})


def test_the_table_tells_name_type_default_unit_release_and_meaning() -> None:
    assert table(Whole).splitlines() == [
        "| option | type | default | unit | since | |",
        "|---|---|---|---|---|---|",
        "| `a.name` | string | required |  | 0.1 | Name. Also `b.name`. |",
        "| `part.wait` | duration | `90s` | seconds | 0.1 | Waits. |",
        "| `part.room` | size | `2MiB` | bytes | 0.1 | Room. |",
        "| `told` | section |  |  | 0.1 | Told. |",
        "| `told.wait` | duration | `90s` | seconds | 0.1 | Waits. |",
        "| `told.room` | size | `2MiB` | bytes | 0.1 | Room. |",
        "| `parts` | list of section |  |  | 0.3 | Parts. |",
        "| `parts[].wait` | duration | `90s` | seconds | 0.3 | Waits. |",
        "| `parts[].room` | size | `2MiB` | bytes | 0.3 | Room. |",
        "| `side` | `left`, `right` | `left` |  | 0.1 | Side. |",
        "| `many` | number |  | wheels | 0.1 | Many. |",
        "| `on` | boolean | `true` |  | 0.1 | On. |",
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


def test_what_is_the_same_in_several_kinds_is_reported_once() -> None:
    assert table(Kinds("kind", {"small": Small, "large": Large})).splitlines()[2:] == [
        "| `kind` | string | `small` |  | 0.1 | Kind. (`kind: small`) |",
        "| `depth` | number | `1` |  | 0.1 | Depth. |",
        "| `kind` | string | `large` |  | 0.1 | Kind. (`kind: large`) |",
        "| `wait` | duration | `0s` | seconds | 0.1 | Waits. (`kind: large`) |",
        "| `side` | `left` |  |  | 0.1 | Side. (`kind: large`) |",
    ]


def undocumented(model: Any) -> Iterator[str]:
    for option in options(model):
        if option.about.get("recursive"):
            continue
        if choices := option.kinds or option.named_items:
            for each in choices.models.values():
                yield from undocumented(each)
        elif option.section:
            yield from undocumented(option.section)
        if (not option.section or option.many) and not option.about.get("doc", "").endswith("."):
            yield f"{model.__name__}.{option.name}"


@pytest.mark.parametrize("model", [ShipperConfig, SinkConfig])
def test_every_option_is_documented_in_a_sentence(model: type[ShipperConfig] | type[SinkConfig]) -> None:
    assert list(undocumented(model)) == []


def test_the_page_in_the_docs_is_the_one_that_the_code_writes() -> None:
    written = (DOCS / "reference" / "shipper-options.md").read_text()
    assert written == page(), (
        "write it again: python -m log_shipper.shipper.options.page > docs/reference/shipper-options.md"
    )


def test_the_configuration_that_we_ship_loads_and_is_short() -> None:
    file = Path(config.__file__).with_name("shipper.yml")
    loaded = load(file, ShipperConfig, env={})
    assert loaded.output.chosen is loaded.output.kafka
    assert len(file.read_text().splitlines()) <= 12
