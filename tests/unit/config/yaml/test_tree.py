import pytest

from log_shipper.config.yaml.errors import Place
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section, as_list, is_null
from tests.config_lab import narrowed

FILE = Place("a.yml", 1)


def scalar(text: str, line: int = 1, kind: str = "str") -> Scalar:
    return Scalar(text, kind, True, Place("a.yml", line))


def entry(key: str, node: Node, line: int = 1, rank: int = 0) -> Entry:
    return Entry(key, node, Place("a.yml", line), rank)


def table(*entries: Entry) -> Section:
    return Section(entries, FILE)


def no_clash(key: str, first: Place, second: Place) -> None:
    pytest.fail(f"{key} clashes: {first}, {second}")


def test_dotted_and_nested_keys_are_one_section() -> None:
    root = table(entry("a.b", scalar("1")), entry("a", table(entry("c", scalar("2")))))
    below = narrowed(Section, root.children(no_clash)["a"]).children(no_clash)
    assert {key: narrowed(Scalar, node).text for key, node in below.items()} == {"b": "1", "c": "2"}


def test_leaves_keep_a_key_that_is_the_beginning_of_another() -> None:
    root = table(entry("api", table(entry("version", scalar("1")))), entry("api.version.timeout", scalar("2")))
    assert {k: narrowed(Scalar, n).text for k, n in root.leaves(no_clash).items()} == {
        "api.version": "1",
        "api.version.timeout": "2",
    }


def test_equal_keys_of_one_rank_clash_and_name_both_places() -> None:
    clashes: list[tuple[str, Place, Place]] = []
    root = table(entry("a.b", scalar("1"), 3), entry("a.b", scalar("2"), 8))
    below = narrowed(Section, root.children(no_clash)["a"]).children(lambda *clash: clashes.append(clash))
    assert clashes == [("b", Place("a.yml", 3), Place("a.yml", 8))]
    assert narrowed(Scalar, below["b"]).text == "1"


def test_a_section_and_a_value_of_one_name_clash() -> None:
    clashes: list[tuple[str, Place, Place]] = []
    root = table(entry("a", scalar("1"), 3), entry("a.b", scalar("2"), 8))
    root.children(lambda *clash: clashes.append(clash))
    assert clashes == [("a", Place("a.yml", 3), Place("a.yml", 8))]


def test_the_higher_rank_wins_whatever_the_order() -> None:
    root = table(entry("a", scalar("high"), rank=2), entry("a", scalar("low")), entry("a", scalar("middle"), rank=1))
    assert narrowed(Scalar, root.children(no_clash)["a"]).text == "high"


def test_a_higher_rank_adds_to_a_section_and_replaces_a_list() -> None:
    root = table(
        entry("a", table(entry("b", scalar("1")), entry("l", ListNode((scalar("x"),), FILE)))),
        entry("a.l", ListNode((), FILE), rank=1),
    )
    below = narrowed(Section, root.children(no_clash)["a"]).children(no_clash)
    assert narrowed(Scalar, below["b"]).text == "1"
    assert narrowed(ListNode, below["l"]).items == ()


@pytest.mark.parametrize("null_first", [True, False])
def test_nothing_and_something_do_not_clash(null_first: bool) -> None:
    two = [entry("a", scalar("", kind="null")), entry("a.b", scalar("1"))]
    root = table(*(two if null_first else reversed(two)))
    assert isinstance(root.children(no_clash)["a"], Section)


def test_a_higher_null_takes_a_value_away() -> None:
    root = table(entry("a", scalar("1")), entry("a", scalar("", kind="null"), rank=1))
    assert is_null(root.children(no_clash)["a"])


def items(*texts: str) -> ListNode:
    return ListNode(tuple(map(scalar, texts)), FILE)


def test_a_higher_rank_changes_and_adds_items_by_their_index() -> None:
    root = table(
        entry("l", items("a", "b")),
        entry("l.1", scalar("B"), rank=1),
        entry("l", table(entry("2", scalar("c"))), rank=2),
    )
    listed = narrowed(ListNode, root.children(no_clash)["l"])
    assert [narrowed(Scalar, node).text for node in listed.items] == ["a", "B", "c"]


def test_what_an_item_holds_is_joined_as_any_section_is() -> None:
    first = table(entry("x", scalar("1")), entry("y", scalar("2")))
    root = table(entry("l", ListNode((first,), FILE)), entry("l.0.y", scalar("3", kind="int"), rank=1))
    (item,) = narrowed(ListNode, root.children(no_clash)["l"]).items
    below = narrowed(Section, item).children(no_clash)
    assert {key: narrowed(Scalar, node).text for key, node in below.items()} == {"x": "1", "y": "3"}


@pytest.mark.parametrize("key", ["l.2", "l.x", "l.-1", "l.²"])
def test_a_value_that_is_not_an_item_replaces_the_list_and_is_reported_later(key: str) -> None:
    root = table(entry("l", items("a")), entry(key, scalar("b"), rank=1))
    assert isinstance(root.children(no_clash)["l"], Section)


def test_an_item_in_the_same_file_as_its_list_clashes() -> None:
    clashes: list[str] = []
    table(entry("l", items("a")), entry("l.0", scalar("b"))).children(lambda *clash: clashes.append(clash[0]))
    assert clashes == ["l"]


@pytest.mark.parametrize(
    ("node", "texts"),
    [
        (items("a", "b"), ["a", "b"]),
        (scalar("a"), ["a"]),
        (table(entry("1", scalar("b")), entry("0", scalar("a"))), ["a", "b"]),
    ],
)
def test_a_list_can_be_written_in_three_ways(node: Node, texts: list[str]) -> None:
    assert [narrowed(Scalar, item).text for item in narrowed(ListNode, as_list(node)).items] == texts


@pytest.mark.parametrize("keys", [[], ["1"], ["0", "2"], ["0", "x"]])
def test_a_section_of_other_names_than_indices_is_no_list(keys: list[str]) -> None:
    assert as_list(table(*(entry(key, scalar("a")) for key in keys))) is None
