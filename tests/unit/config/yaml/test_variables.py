import pytest

from log_shipper.config.yaml.variables import MAX_EXPANDED, MAX_NESTED, expand


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no variable", "no variable"),
        ("${A}", "1"),
        ("x${A}y${B}z", "x1y2z"),
        ("${NO:default}", "default"),
        ("${NO:}", ""),
        ("${A:default}", "1"),
        ("${NO:${A}}", "1"),
        ("${NO:-5}", "-5"),
        ("${NO: a b }", " a b "),
        ("${NO:${NEITHER:deep}}", "deep"),
        ("${NO:http://h:1}", "http://h:1"),
        ("${A:?must be set}", "1"),
        ("$A and $ and {A}", "$A and $ and {A}"),
        ("^x$", "^x$"),
        ("${A}$", "1$"),
    ],
)
def test_variables_are_filled_in(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expected


def test_two_dollars_keep_the_characters() -> None:
    assert expand("a$${A}b${A}", {"A": "1"}) == "a${A}b1"


def test_what_a_variable_holds_is_not_expanded_again() -> None:
    assert expand("${A}", {"A": "${B}", "B": "secret"}) == "${B}"


def test_an_empty_variable_is_set() -> None:
    assert expand("${A:default}", {"A": ""}) == ""


def test_a_variable_that_is_not_set_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^variable NO is not set; set a default with \$\{NO:value\}$"):
        expand("${NO}", {})


def test_a_variable_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^'\$\{\}' names no variable; write \$\{NAME\}, or '\$\$\{' for a literal"):
        expand("a${}b", {"A": "1"})


@pytest.mark.parametrize(("text", "name"), [("${ A }", " A "), ("${A :}", "A "), ("${ NO:x y}", " NO"), ("${ }", " ")])
def test_blanks_around_a_name_are_refused(text: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"^the name of variable '{name}' has blanks; remove them$"):
        expand(text, {"A": "1"})


def test_a_required_variable_is_refused_with_its_message() -> None:
    with pytest.raises(ValueError, match=r"^variable NO is not set: ask the admin$"):
        expand("${NO:?ask the admin}", {})


@pytest.mark.parametrize("text", ["${A", "${A:${B}", "x${"])
def test_a_variable_that_is_not_closed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"without '}'"):
        expand(text, {"A": "1", "B": "2"})


def nested(levels: int) -> str:
    return "${A:" * levels + "x" + "}" * levels


def test_defaults_are_nested_up_to_a_limit() -> None:
    assert expand(nested(MAX_NESTED), {}) == "x"
    for levels in (MAX_NESTED + 1, 100_000):
        with pytest.raises(ValueError, match=r"^more than 8 variables are nested in defaults$"):
            expand(nested(levels), {})


def test_a_text_has_a_longest_length_with_its_variables_filled_in() -> None:
    env = {"A": "x" * 1000}
    assert len(expand("${A}" * (MAX_EXPANDED // 1000), env)) == MAX_EXPANDED // 1000 * 1000
    with pytest.raises(ValueError, match=r"^has more than 1,048,576 characters after expanding its variables$"):
        expand("${A}" * 1_000_000, env)
