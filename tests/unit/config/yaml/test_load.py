"""The loader, on a model of its own: it knows no option by name."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.units import Duration, Size
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.config.yaml.schema import Kinds, NamedItems
from tests.config_lab import ConfigLab, Load


def not_odd(value: int) -> Iterator[Finding]:
    if value % 2:
        yield "", f"{value} is odd"


def distinct(items: tuple["Wheel", ...]) -> Iterator[Finding]:
    for index, item in enumerate(items):
        if item.name in [other.name for other in items[:index]]:
            yield f"[{index}].name", f"{item.name!r} again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    name: str = field(metadata={"missing": "each wheel has one"})
    size: Size = field(default=5, metadata={"min": 2, "max": 10})


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    not_yet: ClassVar = {"turbo": "", "fuel.gas": "only fuel.oil"}
    ignored: ClassVar = {"colour": "paint drives nothing"}
    even: int = field(default=2, metadata={"check": not_odd})
    low: int = 0
    high: int = 9
    raw: dict[str, str | int | float | bool] = field(default_factory=dict)

    def check(self) -> Iterator[Finding]:
        if self.high < self.low:
            yield "high", f"must be at least {self.low}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Car:
    wheels: tuple[Wheel, ...] = field(default=(), metadata={"key": ("car.wheels", "old.wheels"), "check": distinct})
    engine: Engine = field(default_factory=Engine)
    spare: Engine | None = None
    drive: Literal["left", "right"] = "left"
    wait: Duration = 1.0
    seats: tuple[str, ...] = field(default=(), metadata={"split": ","})
    labels: dict[str, Any] = field(default_factory=dict)
    owner: str | None = None
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})


@pytest.fixture
def car(lab: ConfigLab) -> Load[Car]:
    return lambda text, *overrides, **env: lab.load(text, Car, overrides, env)


@pytest.fixture
def wrong(lab: ConfigLab) -> Load[list[str]]:
    return lambda text, *overrides, **env: lab.problems(text, Car, overrides, env)


def test_an_empty_file_is_a_model_of_defaults(car: Load[Car]) -> None:
    assert car("") == Car()


def test_dotted_and_nested_keys_load_alike(car: Load[Car]) -> None:
    nested = car("car:\n  wheels:\n    - name: a\nengine:\n  even: 4\n  high: 12\n")
    dotted = car("car.wheels: [{name: a}]\nengine.even: 4\nengine.high: 12\n")
    mixed = car("engine:\n  even: 4\ncar.wheels:\n  - name: a\nengine.high: 12\n")
    assert nested == dotted == mixed == Car(wheels=(Wheel(name="a"),), engine=Engine(even=4, high=12))


def test_units_lists_and_maps_are_read_by_their_hints(car: Load[Car]) -> None:
    read = car("wait: 1m30s\ncar.wheels: [{name: a, size: 0.008KB}]\nseats: front\nlabels: {a.b: 1, c: [x, {d: ~}]}\n")
    assert (read.wait, read.wheels[0].size, read.seats) == (90.0, 8, ("front",))
    assert read.labels == {"a": {"b": 1}, "c": ["x", {"d": None}]}


def test_a_map_of_scalars_keeps_dotted_keys_and_forgets_nothings(car: Load[Car]) -> None:
    read = car("engine.raw:\n  api.version: true\n  api.version.timeout.ms: 5\n  gone:\n  deep: {er: x}\n")
    assert read.engine.raw == {"api.version": True, "api.version.timeout.ms": 5, "deep.er": "x"}


def test_a_list_may_be_written_as_one_scalar_where_the_model_says_so(car: Load[Car]) -> None:
    assert car("seats: ['a, b', '${MORE}']\n", MORE="c,,d").seats == ("a", "b", "c", "d")


@pytest.mark.parametrize("text", ["engine:\nwait:\nspare.low: 0\n", "engine: {}\nspare:\n"])
def test_a_section_with_nothing_below_it_is_one_of_defaults(car: Load[Car], text: str) -> None:
    assert car(text) == Car(spare=Engine())


def test_the_environment_fills_in_and_is_typed(car: Load[Car]) -> None:
    assert car("engine.even: ${N}\nowner: ${NO:}\nseats: ['${S}']\n", N="8", S="x") == Car(
        engine=Engine(even=8), seats=("x",)
    )


def test_overrides_win_over_the_file_and_the_last_over_the_first(car: Load[Car]) -> None:
    read = car(
        "engine: {even: 4, low: 1}\nseats: [a]\n",
        "engine.even=6",
        "engine={even: 8, high: 3}",
        "seats=[b, c]",
        "owner=${X}",
        X="me",
    )
    assert read == Car(engine=Engine(even=8, low=1, high=3), seats=("b", "c"), owner="me")


def test_an_override_without_a_value_brings_the_default_back(car: Load[Car]) -> None:
    assert car("drive: right\n", "drive=").drive == "left"


def test_the_environment_of_the_process_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "car.yml"
    file.write_text("owner: ${PATH}\n")
    assert load(file, Car).owner


@pytest.mark.parametrize("size", [2, 10])
def test_bounds_are_allowed_themselves(car: Load[Car], size: int) -> None:
    assert car(f"car.wheels: [{{name: a, size: {size}}}]\n").wheels[0].size == size


def test_what_is_ignored_or_not_enabled_becomes_a_note(car: Load[Car], lab: ConfigLab) -> None:
    notes = car("engine.colour: red\nengine:\n  turbo: {enabled: false, x: 1}\n").notes
    assert notes == (
        f"ignored: engine.colour ({lab.file}:1): paint drives nothing",
        f"ignored: engine.turbo ({lab.file}:3): not enabled",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ownr: x\n", "shipper.yml:1: ownr: unknown option; did you mean 'owner'?"),
        ("\nengine:\n  evn: 1\n", "shipper.yml:3: engine.evn: unknown option; did you mean 'even'?"),
        ("cra.wheels: []\n", "shipper.yml:1: cra: unknown option; did you mean 'car'?"),
        ("car.wheel: []\n", "shipper.yml:1: car.wheel: unknown option; did you mean 'car.wheels'?"),
        ("engine.qq: 1\n", "shipper.yml:1: engine.qq: unknown option; known here: even, low, high, raw"),
        ("engine.turbo: 1\n", "shipper.yml:1: engine.turbo: not supported"),
        ("engine:\n  fuel:\n    gas: 1\n", "shipper.yml:3: engine.fuel.gas: not supported; only fuel.oil"),
        ("engine.turbo.enabled: maybe\n", "shipper.yml:1: engine.turbo: not supported"),
        ("car: 5\n", "shipper.yml:1: car: must be a section of options (key: value)"),
        ("engine: 5\n", "shipper.yml:1: engine: must be a section of options (key: value)"),
        ("engine:\n- even: 5\n", "shipper.yml:1: engine: must be a section of options (key: value)"),
        ("labels: 5\n", "shipper.yml:1: labels: must be a section of options (key: value)"),
        ("owner: [x]\n", "shipper.yml:1: owner: must be a single value, not a list"),
        ("owner: {x: 1}\n", "shipper.yml:1: owner: must be a single value, not a section"),
        ("seats: {x: 1}\n", "shipper.yml:1: seats: must be a list (- item)"),
        ("seats:\n  - a\n  -\n", "shipper.yml:3: seats[1]: is empty"),
        ("seats:\n  - a\n  - [b]\n", "shipper.yml:3: seats[1]: must be a single value, not a list"),
        ("engine.raw.a: [1]\n", "shipper.yml:1: engine.raw.a: must be a single value, not a list"),
        ("engine:\n  even: 3\n", "shipper.yml:2: engine.even: 3 is odd"),
        ("engine.low: x\n", "shipper.yml:1: engine.low: 'x' must be an integer"),
        ("wait: soon\n", "shipper.yml:1: wait: 'soon' is not a duration; write 5s, 1m30s, 100ms or 2h (24h for a day)"),
        ("drive: up\n", "shipper.yml:1: drive: 'up' must be one of: left, right"),
        ("car.wheels:\n  - size: 5\n", "shipper.yml:2: car.wheels[0].name: missing; each wheel has one"),
        ("old.wheels:\n  - name:\n", "shipper.yml:2: old.wheels[0].name: missing; each wheel has one"),
        ("car.wheels:\n  - name: a\n    size: 1\n", "shipper.yml:3: car.wheels[0].size: must be at least 2"),
        ("car.wheels:\n  - name: a\n    size: 11\n", "shipper.yml:3: car.wheels[0].size: must be at most 10"),
        ("old.wheels:\n  - name: a\n  - name: a\n", "shipper.yml:3: old.wheels[1].name: 'a' again"),
        ("spare:\n  low: 5\n  high: 4\n", "shipper.yml:3: spare.high: must be at least 5"),
        ("spare:\n  low: 10\n", "shipper.yml:1: spare.high: must be at least 10"),
        ("engine:\n  low: 1\nengine.low: 2\n", "shipper.yml:3: engine.low: duplicate of line 2; keep one"),
        (
            "engine.raw:\n  a.b: 1\n  a: {b: 2}\n",
            "shipper.yml:3: engine.raw.a.b: duplicate of line 2; keep one",
        ),
        ("labels:\n  a.b: 1\n  a: {b: 2}\n", "shipper.yml:3: labels.a.b: duplicate of line 2; keep one"),
        ("labels:\n  a: [0x_]\n", "shipper.yml:2: labels.a[0]: invalid literal for int() with base 16: ''"),
        ("owner: ${NO}\n", "shipper.yml:1: owner: variable NO is not set; set a default with ${NO:value}"),
        ("\nengine.even: ${NO:?say it}\n", "shipper.yml:2: engine.even: variable NO is not set: say it"),
        ("seats: [a, '${NO:?say it}']\n", "shipper.yml:1: seats[1]: variable NO is not set: say it"),
        ("labels.x: ${NO:?say it}\n", "shipper.yml:1: labels.x: variable NO is not set: say it"),
        ("labels.x: ['${NO:?say it}']\n", "shipper.yml:1: labels.x[0]: variable NO is not set: say it"),
        ("engine.raw.x: ${NO:?say it}\n", "shipper.yml:1: engine.raw.x: variable NO is not set: say it"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_path(wrong: Load[list[str]], text: str, problem: str) -> None:
    assert wrong(text) == [problem]


def test_two_names_of_one_option_are_not_given_together(wrong: Load[list[str]]) -> None:
    (problem,) = wrong("car.wheels: []\nold.wheels: []\n")
    assert problem.startswith("shipper.yml:2: old.wheels: duplicates car.wheels (")
    assert problem.endswith("shipper.yml:1); keep one")


def test_a_mistake_in_an_override_is_named_by_its_path(wrong: Load[list[str]]) -> None:
    assert wrong("", "engine.evn=1") == ["-E: engine.evn: unknown option; did you mean 'even'?"]
    assert wrong("engine.even: 4\n", "engine.even=x") == ["-E: engine.even: 'x' must be an integer"]


def test_all_mistakes_are_reported_in_the_order_of_the_file_and_overrides_last(wrong: Load[list[str]]) -> None:
    assert wrong("drive: up\nengine:\n  even: x\nwaits: 1\ncar.wheels: [{size: 1}]\n", "seat=x") == [
        "shipper.yml:1: drive: 'up' must be one of: left, right",
        "shipper.yml:3: engine.even: 'x' must be an integer",
        "shipper.yml:4: waits: unknown option; did you mean 'wait'?",
        "shipper.yml:5: car.wheels[0].name: missing; each wheel has one",
        "shipper.yml:5: car.wheels[0].size: must be at least 2",
        "-E: seat: unknown option; did you mean 'seats'?",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the program sees of either kind."""

    area: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    here: ClassVar = {"radius": "side"}
    not_yet: ClassVar = {"turn": ""}
    kind: str = "square"
    side: int = field(default=1, metadata={"min": 1})

    def check(self) -> Iterator[Finding]:
        if self.side == 13:
            yield "side", "brings no luck"

    def remarks(self) -> Iterator[Finding]:
        if self.side > 100:
            yield "side", "that is large"
        yield from ()

    def converted(self) -> Shape:
        return Shape(area=self.side**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    kind: str = "circle"
    radius: int = 1
    turn: int = 0

    def converted(self) -> Shape:
        return Shape(area=3 * self.radius**2)


def no_two_alike(shapes: tuple[Shape, ...]) -> Iterator[Finding]:
    for index in range(1, len(shapes)):
        if shapes[index] in shapes[:index]:
            yield f"[{index}].side", "the same area again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    shapes: tuple[Shape, ...] = field(
        default=(), metadata={"read_as": Kinds("kind", {"square": Square, "circle": Circle}), "check": no_two_alike}
    )
    frame: Shape = field(default_factory=Shape, metadata={"read_as": Square})
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})


@pytest.fixture
def drawing(lab: ConfigLab) -> Load[Drawing]:
    return lambda text, *overrides, **env: lab.load(text, Drawing, overrides, env)


def test_a_section_is_read_by_the_names_of_its_kind_and_is_what_it_becomes(drawing: Load[Drawing]) -> None:
    read = drawing("shapes: [{kind: circle, radius: 2}, {side: 4}, {kind: '${K}'}, {kind: , side: 3}]\n", K="square")
    assert [shape.area for shape in read.shapes] == [12, 16, 1, 9]


def test_a_section_that_is_written_as_another_becomes_its_own_also_when_absent(drawing: Load[Drawing]) -> None:
    assert (drawing("frame.side: 5\n").frame, drawing("").frame) == (Shape(area=25), Shape(area=1))


def test_a_remark_is_noted_with_its_place(drawing: Load[Drawing], lab: ConfigLab) -> None:
    assert drawing("frame:\n  side: 101\n").notes == (f"frame.side ({lab.file}:2): that is large",)


def test_a_part_that_is_written_as_not_wanted_is_noted(drawing: Load[Drawing], lab: ConfigLab) -> None:
    assert drawing("frame.turn: false\n").notes == (f"ignored: frame.turn ({lab.file}:1): not enabled",)


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ("{kind: line}", "kind: 'line' is unknown; known: square, circle"),
        ("{kind: '${NO}'}", "kind: variable NO is not set; set a default with ${NO:value}"),
        ("{kind: [circle]}", "kind: must be a single value, not a list"),
        ("{kind: circle, side: 2}", "side: belongs to kind: square"),
        ("{kind: square, radius: 2}", "radius: belongs to kind: circle; here, it is named side"),
        ("{radius: 2}", "radius: belongs to kind: circle; here, it is named side"),
        ("{turn: 2}", "turn: not supported"),
        ("{kind: circle, sid: 2}", "sid: unknown option; known here: kind, radius, turn"),
        ("{side: 0}", "side: must be at least 1"),
        ("{side: 13}", "side: brings no luck"),
    ],
)
def test_a_mistake_in_a_section_of_some_kind_is_named(lab: ConfigLab, shape: str, problem: str) -> None:
    assert lab.problems(f"shapes: [{shape}]\n", Drawing) == [f"shipper.yml:1: shapes[0].{problem}"]


def test_a_kind_given_twice_is_reported_once(lab: ConfigLab) -> None:
    assert lab.problems("shapes:\n- kind: circle\n  kind: square\n", Drawing) == [
        "shipper.yml:3: shapes[0].kind: duplicate of line 2; keep one"
    ]


def test_a_check_of_what_was_read_points_to_what_was_written(lab: ConfigLab) -> None:
    assert lab.problems("shapes:\n- side: 2\n-\n  side: 2\n", Drawing) == [
        "shipper.yml:4: shapes[1].side: the same area again"
    ]


def test_an_item_of_a_list_is_overridden_by_its_index(car: Load[Car]) -> None:
    text = "car.wheels: [{name: a, size: 2}, {name: b}]\nseats: [x]\n"
    read = car(text, "car.wheels.1.size=3", "car.wheels[0].name=A", "seats.0=y", "car.wheels[2]={name: c, size: 4}")
    assert read.wheels == (Wheel(name="A", size=2), Wheel(name="b", size=3), Wheel(name="c", size=4))
    assert read.seats == ("y",)


def test_a_list_can_be_made_of_its_items_alone(car: Load[Car]) -> None:
    assert car("", "seats.0=a", "seats[1]=b").seats == ("a", "b")


def test_an_item_that_would_leave_a_gap_is_refused(wrong: Load[list[str]]) -> None:
    assert wrong("seats: [a]\n", "seats.2=c") == ["-E: seats: must be a list (- item)"]


def test_a_mistake_in_an_item_from_the_command_line_is_named_by_its_index(wrong: Load[list[str]]) -> None:
    assert wrong("car.wheels: [{name: a}]\n", "car.wheels[0].siz=3") == [
        "-E: car.wheels[0].siz: unknown option; did you mean 'size'?"
    ]


@pytest.mark.parametrize("value", ["a, b", "[a, b]", "['a', \"b\"]", " a,b, "])
def test_a_variable_can_be_a_whole_list(car: Load[Car], value: str) -> None:
    assert car("seats: ${S}\n", S=value).seats == ("a", "b")
    assert car("seats: ${NO:a,b}\n").seats == ("a", "b")
    assert car("seats: ${NO:${S}}\n", S=value).seats == ("a", "b")


def test_a_variable_in_a_list_or_beside_other_text_is_one_item(car: Load[Car]) -> None:
    assert car("seats: ['${S}', 'x ${S}']\n", S="a-b").seats == ("a-b", "x a-b")
    assert car("seats: ${S}${S}\n", S="a,").seats == ("a", "a")  # by `split`, which seats have
    assert car("car.wheels: [{name: '${S}'}]\n", S="a,b").wheels[0].name == "a,b"
    assert car("wait: 1\nseats:\n- ${S}\n", S="a;b").seats == ("a;b",)
    assert car("labels.x: ${S}\n", S="a,b").labels == {"x": "a,b"}


def test_an_option_can_refer_to_another(car: Load[Car]) -> None:
    assert car("owner: ${drive} ${labels.x}\nlabels: {x: '${E}'}\ndrive: right\n", E="${drive}").owner == (
        "right ${drive}"
    )


def test_the_environment_comes_before_the_options(car: Load[Car]) -> None:
    assert car("owner: ${drive}\ndrive: left\n", drive="right").owner == "right"


def test_an_option_that_refers_to_itself_is_named(wrong: Load[list[str]]) -> None:
    assert wrong("owner: ${labels.x}\nlabels.x: ${owner}\n") == [
        "shipper.yml:1: owner: labels.x refers to itself: labels.x -> owner -> labels.x",
        "shipper.yml:2: labels.x: owner refers to itself: owner -> labels.x -> owner",
    ]


def chain(length: int, more: str = "") -> str:
    """Options that refer to each other, the first to the last one."""
    links = "".join(f"  x{n}: ${{labels.x{n + 1}}}{more.format(n=n + 1)}\n" for n in range(1, length))
    return f"owner: ${{labels.x1}}\nlabels:\n{links}  x{length}: end\n"


def test_a_chain_of_options_has_a_longest_length(car: Load[Car], wrong: Load[list[str]]) -> None:
    assert car(chain(8)).owner == "end"
    assert wrong(chain(400))[0] == (
        "shipper.yml:1: owner: more than 8 options refer to each other in a chain: labels.x1 -> ... -> labels.x9"
    )


def test_options_that_name_each_other_many_times_are_expanded_once(car: Load[Car], wrong: Load[list[str]]) -> None:
    assert car(chain(8, "${{labels.x{n}}}" * 2)).owner == "end" * 3**7
    (first, *_) = wrong(chain(8, "${{labels.x{n}}}" * 9))
    assert first == "shipper.yml:1: owner: has more than 1,048,576 characters after expanding its variables"


def written(lab: ConfigLab, name: str, text: str) -> Path:
    file = lab.file.with_name(name)
    file.write_text(text)
    return file


def test_of_several_files_the_later_ones_win_option_by_option(lab: ConfigLab) -> None:
    files = [
        written(lab, "a.yml", "engine: {even: 2, low: 1}\nseats: [a, b]\nowner: me\n"),
        written(lab, "b.yml", "engine.even: 4\nseats: [c]\n"),
    ]
    read = load(files, Car, ["owner=you"], {})
    assert (read.engine, read.seats, read.owner) == (Engine(even=4, low=1), ("c",), "you")


def test_mistakes_in_several_files_are_reported_in_the_order_of_the_files(lab: ConfigLab) -> None:
    files = [written(lab, "z.yml", "\n\nwaits: 1\n"), written(lab, "a.yml", "seat: x\n")]
    with pytest.raises(ConfigError) as caught:
        load(files, Car, ["own=x"], {})
    assert [problem.file.rpartition("/")[2] for problem in caught.value.problems] == ["z.yml", "a.yml", "-E"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    gloss: int = field(default=1, metadata={"min": 0, "unused": "paint does not shine"})
    coat: Engine | None = field(default=None, metadata={"unused": "one coat is enough"})
    tools: tuple[Any, ...] = field(
        default=(),
        metadata={
            "read_as": NamedItems(
                "tool", "brush", {"brush": Wheel}, not_yet={"roller": ""}, ignored={"spray": "it is windy"}
            )
        },
    )
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})


def test_what_changes_nothing_is_checked_and_noted(lab: ConfigLab) -> None:
    read = lab.load("gloss: 5\ncoat: {even: 4}\n", Paint)
    assert (read.gloss, read.coat) == (5, Engine(even=4))
    assert read.notes == (
        f"ignored: gloss ({lab.file}:1): paint does not shine",
        f"ignored: coat ({lab.file}:2): one coat is enough",
    )
    assert lab.load("coat:\n", Paint).notes == lab.load("", Paint).notes == ()
    assert lab.problems("gloss: -1\ncoat: {evn: 4}\n", Paint) == [
        "shipper.yml:1: gloss: must be at least 0",
        "shipper.yml:2: coat.evn: unknown option; did you mean 'even'?",
    ]


def test_an_item_that_is_left_out_is_noted(lab: ConfigLab) -> None:
    read = lab.load("tools: [spray: {x: 1}, brush: {name: a}]\n", Paint)
    assert read.tools == (Wheel(name="a"),)
    assert read.notes == (f"ignored: tools[0].spray ({lab.file}:1): it is windy",)


def test_an_item_alone_needs_no_list(lab: ConfigLab) -> None:
    assert lab.load("tools: {brush: {name: a}}\n", Paint).tools == (Wheel(name="a"),)


def test_an_item_that_there_is_elsewhere_is_reported_from_one_that_is_misspelt(lab: ConfigLab) -> None:
    assert lab.problems("tools: [roller: ~, spary: ~, xx: ~]\n", Paint) == [
        "shipper.yml:1: tools[0].roller: not supported",
        "shipper.yml:1: tools[1].spary: unknown tool; did you mean 'spray'?",
        "shipper.yml:1: tools[2].xx: unknown tool; known: brush",
    ]
