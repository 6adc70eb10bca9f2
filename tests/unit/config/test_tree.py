import pytest

from config.errors import Place
from config.tree import Entry, Listing, Scalar, Table, as_listing, is_null

FILE = Place("a.yml", 1)


def scalar(text, line=1, kind="str"):
    return Scalar(text, kind, True, Place("a.yml", line))


def entry(key, node, line=1, rank=0):
    return Entry(key, node, Place("a.yml", line), rank)


def table(*entries):
    return Table(entries, FILE)


def no_clash(key, first, second):
    pytest.fail(f"{key} clashes: {first}, {second}")


def test_dotted_and_nested_keys_are_one_section():
    root = table(entry("a.b", scalar("1")), entry("a", table(entry("c", scalar("2")))))
    below = root.children(no_clash)["a"].children(no_clash)
    assert {key: node.text for key, node in below.items()} == {"b": "1", "c": "2"}


def test_leaves_keep_a_key_that_is_the_beginning_of_another():
    root = table(entry("api", table(entry("version", scalar("1")))), entry("api.version.timeout", scalar("2")))
    assert {k: n.text for k, n in root.leaves(no_clash).items()} == {"api.version": "1", "api.version.timeout": "2"}


def test_equal_keys_of_one_rank_clash_and_name_both_places():
    clashes = []
    root = table(entry("a.b", scalar("1"), 3), entry("a.b", scalar("2"), 8))
    below = root.children(no_clash)["a"].children(lambda *clash: clashes.append(clash))
    assert clashes == [("b", Place("a.yml", 3), Place("a.yml", 8))]
    assert below["b"].text == "1"


def test_a_section_and_a_value_of_one_name_clash():
    clashes = []
    root = table(entry("a", scalar("1"), 3), entry("a.b", scalar("2"), 8))
    root.children(lambda *clash: clashes.append(clash))
    assert clashes == [("a", Place("a.yml", 3), Place("a.yml", 8))]


def test_the_higher_rank_wins_whatever_the_order():
    root = table(entry("a", scalar("high"), rank=2), entry("a", scalar("low")), entry("a", scalar("middle"), rank=1))
    assert root.children(no_clash)["a"].text == "high"


def test_a_higher_rank_adds_to_a_section_and_replaces_a_list():
    root = table(
        entry("a", table(entry("b", scalar("1")), entry("l", Listing((scalar("x"),), FILE)))),
        entry("a.l", Listing((), FILE), rank=1),
    )
    below = root.children(no_clash)["a"].children(no_clash)
    assert below["b"].text == "1"
    assert below["l"].items == ()


@pytest.mark.parametrize("null_first", [True, False])
def test_nothing_and_something_do_not_clash(null_first):
    two = [entry("a", scalar("", kind="null")), entry("a.b", scalar("1"))]
    root = table(*(two if null_first else reversed(two)))
    assert isinstance(root.children(no_clash)["a"], Table)


def test_a_higher_null_takes_a_value_away():
    root = table(entry("a", scalar("1")), entry("a", scalar("", kind="null"), rank=1))
    assert is_null(root.children(no_clash)["a"])


def items(*texts):
    return Listing(tuple(map(scalar, texts)), FILE)


def test_a_higher_rank_changes_and_adds_items_by_their_index():
    root = table(
        entry("l", items("a", "b")),
        entry("l.1", scalar("B"), rank=1),
        entry("l", table(entry("2", scalar("c"))), rank=2),
    )
    assert [node.text for node in root.children(no_clash)["l"].items] == ["a", "B", "c"]


def test_what_an_item_holds_is_joined_as_any_section_is():
    first = table(entry("x", scalar("1")), entry("y", scalar("2")))
    root = table(entry("l", Listing((first,), FILE)), entry("l.0.y", scalar("3", kind="int"), rank=1))
    (item,) = root.children(no_clash)["l"].items
    assert {key: node.text for key, node in item.children(no_clash).items()} == {"x": "1", "y": "3"}


@pytest.mark.parametrize("key", ["l.2", "l.x", "l.-1", "l.²"])
def test_what_is_no_item_of_a_list_takes_its_place_for_somebody_to_complain(key):
    root = table(entry("l", items("a")), entry(key, scalar("b"), rank=1))
    assert isinstance(root.children(no_clash)["l"], Table)


def test_an_item_in_the_same_file_as_its_list_clashes():
    clashes = []
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
def test_a_list_can_be_written_in_three_ways(node, texts):
    assert [item.text for item in as_listing(node).items] == texts


@pytest.mark.parametrize("keys", [[], ["1"], ["0", "2"], ["0", "x"]])
def test_a_section_of_other_names_than_indices_is_no_list(keys):
    assert as_listing(table(*(entry(key, scalar("a")) for key in keys))) is None
