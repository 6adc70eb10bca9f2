from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.yaml.names import Names
from log_shipper.config.yaml.schema import Kinds, leaves, options


@dataclass(frozen=True)
class Inner:
    depth: int = 1


@dataclass(frozen=True)
class Model:
    not_yet: ClassVar = {"later": "", "far.away": "soon"}
    ignored: ClassVar = {"noise": "of no use"}
    first: str
    inner: Inner = field(default_factory=Inner)
    maybe: Inner | None = None
    many: tuple[Inner, ...] = ()
    renamed: int = field(default=3, metadata={"key": ("new.name", "old.name")})
    told: str = field(default="", metadata={"key": None})


def test_fields_are_options_in_their_order_unless_no_yaml_sets_them() -> None:
    assert [option.name for option in options(Model)] == ["first", "inner", "maybe", "many", "renamed"]


def test_an_option_without_a_default_is_required() -> None:
    assert [option.name for option in options(Model) if option.required] == ["first"]


def test_an_option_knows_its_section_and_whether_it_always_exists() -> None:
    by_name = {option.name: option for option in options(Model)}
    assert [name for name, option in by_name.items() if option.section is Inner] == ["inner", "maybe", "many"]
    assert [name for name, option in by_name.items() if option.always] == ["inner"]
    assert [name for name, option in by_name.items() if option.many] == ["many"]
    assert by_name["inner"].default == Inner()


def test_every_name_of_an_option_is_known() -> None:
    assert {key: option.name for key, option in Names.for_model(Model).options.items() if "." in key} == {
        "new.name": "renamed",
        "old.name": "renamed",
    }


def test_the_beginning_of_a_dotted_name_is_known_as_such() -> None:
    names = Names.for_model(Model)
    known = {name: names.is_beginning(name) for name in ("new", "far", "first", "ne")}
    assert known == {"new": True, "far": True, "first": False, "ne": False}


def test_a_misspelled_name_gets_the_nearest_one() -> None:
    names = Names.for_model(Model)
    assert names.unknown("frist") == "unknown option; did you mean 'first'?"
    assert names.unknown("new.nam") == "unknown option; did you mean 'new.name'?"


def test_a_name_near_to_nothing_gets_the_list() -> None:
    assert Names.for_model(Model).unknown("zzz") == "unknown option; known here: first, inner, maybe, many, new.name"


@dataclass(frozen=True)
class Written:
    deep: Inner = field(default_factory=Inner)


@dataclass(frozen=True)
class Other:
    here: ClassVar = {"inner.depth": "deep.depth"}
    kind: str = "other"
    deep: Inner = field(default_factory=Inner)
    flat: int = 1


@dataclass(frozen=True)
class Third:
    kind: str = "third"
    flat: int = 1


KINDS = Kinds("kind", {"model": Model, "other": Other, "third": Third})


@dataclass(frozen=True)
class Holder:
    some: tuple[Model, ...] = field(default=(), metadata={"read_as": KINDS})
    one: Inner = field(default_factory=Inner, metadata={"read_as": Written})


def test_a_section_may_be_written_as_another_model() -> None:
    some, one = options(Holder)
    assert (some.kinds, some.section, some.many) == (KINDS, Model, True)
    assert (one.kinds, one.section, one.always) == (None, Written, True)


def test_leaves_are_named_from_the_top_but_for_lists_of_sections() -> None:
    assert leaves(Model) == ("first", "inner.depth", "maybe.depth", "many", "new.name", "old.name")


def test_a_name_of_another_kind_is_known_with_where_it_belongs() -> None:
    names = Names.for_model(Other, KINDS)
    assert names.others["inner.depth"] == "belongs to kind: model; here, it is named deep.depth"
    assert names.others["first"] == "belongs to kind: model"
    assert Names.for_model(Model, KINDS).others["flat"] == "belongs to kind: other, third"
    assert (names.is_foreign("first"), names.is_beginning("inner"), names.is_foreign("nothing")) == (True, True, False)


def test_without_kinds_no_name_belongs_elsewhere() -> None:
    assert Names.for_model(Other).others == {}


def test_a_kind_that_there_is_elsewhere_is_reported_from_one_that_is_misspelt() -> None:
    kinds = Kinds("kind", {"model": Model}, {"cart": "it has no model", "coach": ""})
    assert kinds.unknown("cart") == "'cart' is not supported; it has no model"
    assert kinds.unknown("coach") == "'coach' is not supported; known: model"
    assert kinds.unknown("modle") == "'modle' is unknown; did you mean 'model'?"
    assert kinds.unknown("x") == "'x' is unknown; known: model"
