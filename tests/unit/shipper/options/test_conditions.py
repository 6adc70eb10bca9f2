import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.processors.drop_event import DropEventConfig
from tests.processing import section

NO_BOUND = "must be a bound below a field, as in 'http.response.code.gte: 400'; bounds are lt, lte, gt, gte"
NETWORKS = (
    "loopback, global_unicast, unicast, link_local_unicast, interface_local_multicast, link_local_multicast, multicast,"
    " unspecified, private, public"
)


def condition(text: str) -> ConditionConfig | None:
    (config,) = section(f"- drop_event.when: {text}").processors
    assert isinstance(config, DropEventConfig)
    return config.when


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        condition(text)
    (line,) = str(caught.value).splitlines()
    return line.partition("processors[0].drop_event.when")[2].removeprefix(".")


@pytest.mark.parametrize(
    "text",
    [
        "{equals: {a.b: 1, c: text, d: true}}",
        "{contains.message: x}",
        "{regexp: {a: '^x'}}",
        "{range.a.b.gte: 1.5}",
        "{range: {a: {lt: 5, gt: '-1'}}}",
        "{network: {a: private}}",
        "{network: {a: [10.0.0.0/8, '2001:db8::1/32']}}",
        "{has_fields: [a.b, c]}",
        "{has_fields: a}",
        "{and: [{has_fields: a}, {not: {has_fields: b}}]}",
        "{or: [{equals.a: 1}, {equals.a: 2}]}",
        "{not.equals.a: 1}",
    ],
)
def test_conditions_are_read(text: str) -> None:
    condition(text)


def test_dotted_and_nested_fields_are_the_same() -> None:
    assert (
        condition("{range.a.b.gte: 1}")
        == condition("{range: {a: {b: {gte: 1}}}}")
        == condition("{range: {a.b: {gte: 1}}}")
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", ": is empty"),
        ("{equals: {}}", ": is empty"),
        ("{equals.a: 1, contains.b: x}", ": must be a single condition; combine several with 'and:' or 'or:'"),
        ("{equals.a: 1.5}", "equals.a: must be a string, an integer, true or false"),
        ("{equals: {a: [1]}}", "equals.a: must be a string, an integer, true or false"),
        ("{equals: {a: null}}", "equals.a: must be a string, an integer, true or false"),
        ("{contains.port: 80}", "contains.port: must be a string; put it in quotes"),
        ("{contains: {a: [x]}}", "contains.a: must be a string"),
        ("{regexp.a: 5}", "regexp.a: must be a string; put it in quotes"),
        ("{range.a.gte: x}", "range.a.gte: 'x' must be a number"),
        ("{range.a.gte: true}", "range.a.gte: True must be a number"),
        ("{range.a: 5}", f"range.a: {NO_BOUND}"),
        ("{range.a.eq: 5}", f"range.a.eq: {NO_BOUND}"),
        ("{range.gte: 5}", f"range.gte: {NO_BOUND}"),
        ("{network.a: []}", "network.a: must not be empty"),
        ("{and: [{equals.a: [1]}]}", "and[0].equals.a: must be a string, an integer, true or false"),
        ("{not: {}}", "not: is empty"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text: str, message: str) -> None:
    assert problem(text) == message


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "office", "fe80::%1/10", "::/129"])
def test_what_is_not_a_network_is_reported_with_what_is(text: str) -> None:
    expected = f"'{text}' is not a network; write 192.0.2.0/24, 2001:db8::/32, or one of: {NETWORKS}"
    assert problem(f"{{network.a: '{text}'}}") == f"network.a: {expected}"


def test_a_pattern_that_does_not_compile_is_reported() -> None:
    assert problem("{regexp.a: '(x'}").startswith("regexp.a: '(x' is not a regular expression")


def test_an_invalid_section_is_reported_with_an_example() -> None:
    assert (
        problem("text") == ": must be a section of options (key: value), as in 'when.equals: {http.response.code: 200}'"
    )
