"""What a text may hold at most, and that aliases stand for what they name."""

import pytest

from log_shipper.config.yaml.composing import MAX_DEPTH, MAX_VALUES, Budget, Composer
from log_shipper.config.yaml.document import parse
from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section
from tests.config_lab import narrowed


def composed(text: str, budget: Budget | None = None) -> Node | None:
    return Composer("a.yml", [], budget=budget).compose(text)


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        composed(text)
    return str(caught.value)


def plain(node: Node | None) -> object:
    """As Python would have it, without places."""
    if isinstance(node, Section):
        return {entry.key: plain(entry.node) for entry in node.entries}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return None if node is None else node.text


DEEP = "a.yml:{line}: is nested deeper than the limit of 64 levels"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- " + "[" * 1_000_000, 1),
        ("a:\n  - " + "[" * 300 + "]" * 300 + "\n", 2),
        ("{a: " * 300 + "1" + "}" * 300, 1),
        ("".join(f"{' ' * level}a:\n" for level in range(300)), 66),
        ("- " * 300 + "x", 1),
        ("x: 1\n" + "a." * 200 + "b: 1\n", 2),
        ("x: 1\n? " + "[" * 100 + "]" * 100 + "\n: 1\n", 2),
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 100)), 64),
    ],
)
def test_what_is_nested_too_deeply_is_refused_with_its_line(text: str, line: int) -> None:
    assert refused(text) == DEEP.format(line=line)


@pytest.mark.parametrize(
    "text",
    [
        "[" * MAX_DEPTH + "]" * MAX_DEPTH,
        "{a: " * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
        "a." * (MAX_DEPTH - 1) + "a: 1",
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, MAX_DEPTH - 1)),
    ],
)
def test_what_is_as_deep_as_the_limit_is_accepted(text: str) -> None:
    assert composed(text) is not None


MANY = f"exceeds the limit of {MAX_VALUES:,} values here; an alias counts as all the values it stands for"


def test_aliases_of_aliases_count_as_what_they_stand_for() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20)]
    assert refused("a0: &a0 [x]\n" + "".join(levels)).startswith(f"a.yml:7: {MANY}")


def test_sections_that_are_merged_count_as_well() -> None:
    sections = [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}, <<: *a{n - 1}}}\n" for n in range(1, 40)]
    assert MANY in refused("a0: &a0 {z: 1}\n" + "".join(sections))


def test_files_that_are_read_together_have_one_budget() -> None:
    budget = Budget(10)
    composed("[1, 2, 3, 4]", budget)
    assert budget.values == 5
    composed("{a: 1, b: [2, 3]}", budget)
    assert budget.values == 0
    with pytest.raises(ConfigError, match=r"^a\.yml:1: exceeds the limit of"):
        composed("x", budget)


def test_what_libyaml_refuses_and_pyyaml_takes_is_counted_once() -> None:
    budget = Budget()
    problems: list[Problem] = []
    text = "a: 1\na: 2\nb: [x:]\n"
    node = Composer("a.yml", problems, budget=budget).compose(text)
    assert plain(node) == {"a": "2", "b": [{"x": ""}]}
    assert MAX_VALUES - budget.values == 6
    assert [str(problem) for problem in problems] == ["a.yml:2: a: duplicate of line 1; keep one"]


def test_an_alias_is_the_value_of_its_anchor_in_each_place() -> None:
    text = "a: &a {x: 1, y: [2]}\nb: *a\nc:\n  - *a\n  - &s 5\n  - *s\n*s : d\n"
    value = {"x": "1", "y": ["2"]}
    node = narrowed(Section, composed(text))
    assert plain(node) == {"a": value, "b": value, "c": [value, "5", "5"], "5": "d"}
    assert [entry.node.place.line for entry in node.entries] == [1, 2, 3, 7]


def test_an_anchor_given_again_is_another_one() -> None:
    assert plain(composed("a: &x 1\nb: *x\nc: &x 2\nd: *x\n")) == {"a": "1", "b": "1", "c": "2", "d": "2"}


def test_an_alias_of_nothing_is_named() -> None:
    assert (
        refused("a: 1\nb: *x\n")
        == "a.yml:2: is not YAML: found undefined alias; quote strings that begin with *, & or !"
    )


@pytest.mark.parametrize(("key", "is_merge"), [("<<", True), ("'<<'", False), ("!!str <<", False), ("!!merge x", True)])
def test_two_arrows_merge_unless_they_are_text(key: str, is_merge: bool) -> None:
    merged = plain(composed(f"a: &x {{b: 1}}\nc:\n  {key}: *x\n"))
    assert merged == {"a": {"b": "1"}, "c": {"b": "1"} if is_merge else {"<<": {"b": "1"}}}


def test_a_byte_order_mark_is_no_text() -> None:
    (entry,) = parse("\ufeffa: 1\n", "a.yml", []).entries
    assert isinstance(entry, Entry)
    assert (entry.key, narrowed(Scalar, entry.node).text) == ("a", "1")


@pytest.mark.parametrize(
    ("character", "code"), [("\x00", 0), ("\x1b", 27), ("\x7f", 127), ("\ud800", 0xD800), ("\ufffe", 0xFFFE)]
)
def test_a_character_that_is_no_text_is_named_with_its_line(character: str, code: int) -> None:
    assert refused(f"é: ü\nb: {character}\n") == f"a.yml:2: is not YAML: character {code} is not allowed"


@pytest.mark.parametrize("escape", [r"\uD800", r"\U0000DFFF", r"\uD83D\uDE00"])
def test_half_a_character_is_no_text(escape: str) -> None:
    assert (
        refused(f'a: 1\nb: "x{escape}"\n')
        == "a.yml:2: is not YAML: an escape stands for half a character (a lone surrogate)"
    )
