import pytest

from config.errors import Place
from config.tree import Entry, Listing, Scalar, Table, is_null

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
