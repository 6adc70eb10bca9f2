from pathlib import Path

import pytest

from log_shipper.config.yaml.composing import Budget
from log_shipper.config.yaml.document import override, parse, read, read_all, read_list
from log_shipper.config.yaml.errors import ConfigError, Place, Problem
from log_shipper.config.yaml.tree import Entry, ListNode, Scalar, Section
from tests.config_lab import narrowed


def parsed(text: str) -> tuple[Section, list[str]]:
    problems: list[Problem] = []
    return parse(text, "a.yml", problems), [str(problem) for problem in problems]


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, "a.yml", [])
    return str(caught.value)


def test_every_node_has_its_line() -> None:
    root, problems = parsed("a: 1\nb:\n  c: x\nlist:\n  - 5\n  - k: v\n")
    a, b, items = (entry.node for entry in root.entries)
    assert (a.place.line, b.place.line, narrowed(Section, b).entries[0].node.place.line) == (1, 2, 3)
    first, second = narrowed(ListNode, items).items
    assert (items.place.line, first.place.line, second.place.line) == (4, 5, 6)
    assert problems == []


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null\n"])
def test_an_empty_file_is_a_table_without_entries(text: str) -> None:
    assert parsed(text) == (Section((), Place("a.yml", 1)), [])


def test_a_key_given_twice_names_both_lines() -> None:
    _, problems = parsed("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert problems == ["a.yml:4: a.b: duplicate of line 2; keep one"]


def test_two_sections_of_one_key_are_refused_as_well() -> None:
    _, problems = parsed("a:\n  b: 1\na:\n  c: 2\n")
    assert problems == ["a.yml:3: a: duplicate of line 1; keep one"]


def test_a_key_given_twice_in_a_list_names_the_item() -> None:
    _, problems = parsed("a:\n  - b: 1\n  - c: 1\n    c: 2\n")
    assert problems == ["a.yml:4: a[1].c: duplicate of line 3; keep one"]


def test_a_tab_is_named_with_its_line() -> None:
    assert refused("a:\n\tb: 1\n") == "a.yml:2: is not YAML: found a tab in the indentation; use spaces"


def test_broken_yaml_is_named_with_its_line() -> None:
    assert refused("a: 1\nb: [1\nc: 2\n").startswith("a.yml:3: is not YAML: while parsing a flow sequence expected ','")


@pytest.mark.parametrize(
    "value",
    ["[${H}]", "[/var/${H}/x, b]", "{id: ${X:a}}", "{${H}: 1}", "[a, ${H:?set it}]", "\n  [\n ${H}", "[${H:[a]}]"],
)
def test_a_variable_without_quotes_in_brackets_is_named(value: str) -> None:
    line = 1 + value.count("\n")
    assert refused(f"a: {value}\n") == (
        f"a.yml:{line}: is not YAML: '${{' is not quoted; quote variables inside [ ] and {{ }}, as in [\"${{NAME}}\"]"
    )


def test_what_yaml_expected_is_named() -> None:
    assert refused("a: [{b: 1} {c: 2}]\n") == (
        "a.yml:1: is not YAML: while parsing a flow sequence expected ',' or ']', but got '{'"
    )


@pytest.mark.parametrize("value", ["%{[a]}", "@a", "`a`"])
def test_a_character_that_begins_no_string_is_to_be_quoted(value: str) -> None:
    assert refused(f"a: {value}\n").endswith(
        f"found character '{value[0]}' that cannot start any token; quote strings that begin with {value[0]}"
    )


def test_yaml_that_says_no_more_than_its_problem_is_named_so() -> None:
    assert refused("a: b: c\n") == (
        "a.yml:1: is not YAML: mapping values are not allowed here: "
        "add a missing colon to the line above, or quote a string that contains ': '"
    )


def test_a_character_that_yaml_forbids_is_named_with_its_line() -> None:
    assert refused("a: 1\nb: \x07\n") == "a.yml:2: is not YAML: character 7 is not allowed"


def test_a_second_document_is_refused() -> None:
    assert refused("a: 1\n---\nb: 2\n").startswith("a.yml:2: is not YAML: expected a single document")


def test_a_list_is_no_configuration() -> None:
    assert refused("# first\n- a\n") == "a.yml:2: must contain options (key: value), not a list"


def test_a_single_value_is_no_configuration() -> None:
    assert refused("hello\n") == "a.yml:1: must contain options (key: value), not a single value"


@pytest.mark.parametrize("text", ["a..b: 1\n", ".a: 1\n", "? [x]\n: 1\n"])
def test_a_key_that_is_no_name_is_refused(text: str) -> None:
    _, problems = parsed(text)
    assert problems == ["a.yml:1: a key must be a name, or names joined by dots"]


def test_an_anchor_can_be_merged_and_what_is_written_beside_it_wins() -> None:
    root, problems = parsed("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n")
    merged = narrowed(Section, root.entries[1].node)
    assert [(entry.key, narrowed(Scalar, entry.node).text) for entry in merged.entries] == [("b", "1"), ("c", "3")]
    assert problems == []


def test_a_merge_of_no_section_is_refused() -> None:
    assert parsed("a: &x 5\nb:\n  <<: *x\n")[1] == ["a.yml:3: b: '<<' must be an alias of one section"]


def test_an_alias_to_its_own_section_is_refused() -> None:
    assert parsed("a: &x\n  b: *x\n")[1] == ["a.yml:2: a.b: the alias refers to a section that contains it"]


@pytest.mark.parametrize(
    ("written", "kind", "plain"),
    [
        ("5", "int", True),
        ("'5'", "str", False),
        ("!!str 5", "str", False),
        ("!!int x", "str", True),
        ("", "null", True),
    ],
)
def test_a_scalar_knows_its_kind_and_whether_it_was_quoted(written: str, kind: str, plain: bool) -> None:
    node = narrowed(Scalar, parsed(f"a: {written}\n")[0].entries[0].node)
    assert (node.kind, node.plain) == (kind, plain)


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("a: 1\nb: !vault abc\n", 2, "b"),
        ("a: !ENV ${HOME}\n", 1, "a"),
        ("a: !!binary aGVsbG8=\n", 1, "a"),
        ("a:\n  - !x\n", 2, "a[0]"),
        ("a: !x [1]\n", 1, "a"),
        ("a: !x {b: 1}\n", 1, "a"),
        ("a: {!x b: 1}\n", 1, "a"),
        ("a: !!set {b}\n", 1, "a"),
    ],
)
def test_a_tag_that_has_no_meaning_here_is_refused(text: str, line: int, path: str) -> None:
    (problem,) = parsed(text)[1]
    assert problem == f"a.yml:{line}: {path}: YAML tags (!name) are not supported; quote a string that begins with !"


def test_a_password_that_is_taken_for_a_tag_is_not_shown() -> None:
    (problem,) = parsed("password: !hunter2\n")[1]
    assert "hunter2" not in problem


def test_the_tags_of_plain_values_are_accepted() -> None:
    text = "a: [! 1, !!str 1, !!int 1, !!float 1, !!bool true, !!null ~, !!timestamp 2026-01-01, !!map {}, !!seq []]\n"
    assert parsed(text)[1] == []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "no.yml", [])
    assert str(caught.value) == f"{tmp_path}/no.yml: cannot be read: No such file or directory"


def test_a_directory_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, [])
    assert str(caught.value) == f"{tmp_path}: cannot be read: it is a directory; use a regular file"


def test_text_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError) as caught:
        read(file, [])
    assert str(caught.value) == f"{file}:2: is not UTF-8 text: invalid start byte"


def overridden(*overrides: str) -> tuple[tuple[Entry, ...], list[str]]:
    problems: list[Problem] = []
    root = override(parse("a: 1\n", "a.yml", problems), overrides, problems)
    return root.entries[1:], [str(problem) for problem in problems]


def test_an_override_is_yaml_without_a_line() -> None:
    (first, second), problems = overridden("b.c=[x, y]", "d= 5")
    assert (first.key, first.rank, second.key, second.rank) == ("b.c", 1, "d", 2)
    assert isinstance(first.node, ListNode)
    assert second.node == Scalar("5", "int", True, Place("-E"))
    assert problems == []


def test_what_an_override_holds_has_its_rank() -> None:
    (entry,), _ = overridden("b={c: 1}")
    assert narrowed(Section, entry.node).entries[0].rank == 1


def test_an_override_without_a_value_takes_the_value_away() -> None:
    (entry,), _ = overridden("b=")
    assert narrowed(Scalar, entry.node).kind == "null"


@pytest.mark.parametrize(("text", "shown"), [("b", "'b'"), ("=1", "an override"), ("a..b=1", "'a..b'")])
def test_an_override_that_is_no_assignment_is_refused(text: str, shown: str) -> None:
    assert overridden(text) == ((), [f"-E: {shown} must be key=value, as in name=web-1"])


def test_an_override_that_is_no_yaml_is_refused_by_its_key() -> None:
    entries, (problem,) = overridden("tags=[a")
    assert entries == ()
    assert problem.startswith("-E: tags: is not YAML: while parsing a flow sequence expected ','")


def test_an_index_in_brackets_is_a_name_like_any_other() -> None:
    (entry,), _ = overridden("a[0].b[12]=x")
    assert entry.key == "a.0.b.12"


def test_of_several_files_the_last_has_the_rank_of_a_single_one(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("1.yml", "2.yml", "3.yml")]
    for file in files:
        file.write_text(f"a: {file.stem}\n")
    root = read_all(files, [])
    assert [(narrowed(Scalar, entry.node).text, entry.rank) for entry in root.entries] == [
        ("1", -2),
        ("2", -1),
        ("3", 0),
    ]
    assert [entry.place.file for entry in root.entries] == list(map(str, files))


@pytest.mark.parametrize(("text", "count"), [("- a\n- b: 1\n", 2), ("", 0), ("# nothing\n", 0), ("~\n", 0)])
def test_a_file_can_hold_a_list(tmp_path: Path, text: str, count: int) -> None:
    file = tmp_path / "a.yml"
    file.write_text(text)
    assert len(read_list(file, [], Budget(), "inputs, each beginning with '- type:'").items) == count


@pytest.mark.parametrize("text", ["type: log\n", "log\n"])
def test_where_a_list_is_wanted_nothing_else_will_do(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yml"
    file.write_text(text)
    with pytest.raises(
        ConfigError, match=r"a\.yml:1: must contain only a list of inputs, each beginning with '- type:'"
    ):
        read_list(file, [], Budget(), "inputs, each beginning with '- type:'")
