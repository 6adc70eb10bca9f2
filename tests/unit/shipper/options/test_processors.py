"""`processors:` as a list: one processor an item, or a branch."""

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.processors import PROCESSORS, Branch
from log_shipper.shipper.processors.add_tags import AddTagsConfig
from log_shipper.shipper.processors.drop_event import DropEventConfig
from tests.processing import section


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        section(text)
    return [line.partition(": ")[2] for line in str(caught.value).splitlines()]


def test_every_processor_is_in_the_table_under_its_name() -> None:
    names = [model.name for model in PROCESSORS.models.values()]
    assert names == list(PROCESSORS.models)


def test_each_item_is_one_processor() -> None:
    first, second = section("- drop_event:\n- add_tags: {tags: a}").processors
    assert (type(first), type(second)) == (DropEventConfig, AddTagsConfig)


def test_a_branch_holds_lists_of_its_own() -> None:
    (branch,) = section(
        """
        - if.has_fields: a
          then:
            - drop_event:
          else:
            - if.has_fields: b
              then: [drop_event: ]
        """
    ).processors
    assert isinstance(branch, Branch)
    assert [type(each) for each in branch.then] == [DropEventConfig]
    assert isinstance(branch.otherwise[0], Branch)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- drop_evnt:", "processors[0].drop_evnt: unknown processor; did you mean 'drop_event'?"),
        ("- if.has_fields: a", "processors[0].then: missing; list processors for events that meet the condition"),
        ("- then: [drop_event: ]", "processors[0].if: missing; 'then' needs an 'if'"),
        ("- if: {}\n  then: [drop_event: ]", "processors[0].if: is empty"),
        (
            "- {if.has_fields: a, then: [drop_event: ], elif: []}",
            "processors[0].elif: unknown option; did you mean 'if'?",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(text: str, message: str) -> None:
    assert problems(text) == [message]


def test_a_script_is_refused_with_the_reason() -> None:
    (message,) = problems("- script: {lang: javascript}")
    assert "a script may run without end" in message
    alternatives = ("rename", "convert", "dissect", "grok", "drop_event", "if/then/else")
    assert [name for name in alternatives if name not in message] == []


@pytest.mark.parametrize("name", sorted(PROCESSORS.not_yet))
def test_a_processor_that_does_not_exist_here_is_refused_with_what_to_do_instead(name: str) -> None:
    (message,) = problems(f"- {name}: {{field: message}}")
    assert message.startswith(f"processors[0].{name}: not supported; ")
    assert len(message.partition("; ")[2].split()) > 1


def test_two_processors_in_one_item_are_reported() -> None:
    (message,) = problems("- drop_event:\n  add_tags: {tags: a}")
    assert message.endswith("found 2: drop_event, add_tags")
