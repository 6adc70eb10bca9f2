import pytest

from shipper.errors import StartError
from shipper.record import static_members


def test_without_tags_and_fields_there_is_nothing_to_add() -> None:
    assert static_members((), {}, {}) == {}


def test_tags_come_before_fields() -> None:
    assert static_members(("a",), {"env": "prod"}, {}) == {"tags": ["a"], "fields": {"env": "prod"}}


def test_under_root_the_fields_are_members_of_their_own() -> None:
    assert static_members(("a",), {}, {"env": "prod", "n": 1}) == {"tags": ["a"], "env": "prod", "n": 1}


@pytest.mark.parametrize("name", ["message", "@timestamp", "log", "host", "agent", "input", "ecs"])
def test_a_field_under_root_may_not_replace_a_member_of_the_record(name: str) -> None:
    with pytest.raises(StartError, match=f"'{name}'"):
        static_members((), {}, {name: "x"})


def test_below_fields_any_name_will_do() -> None:
    assert static_members((), {"message": "x"}, {}) == {"fields": {"message": "x"}}


def test_a_value_that_json_cannot_hold_stops_the_start() -> None:
    with pytest.raises(StartError, match="64-bit"):
        static_members((), {"n": 10**30}, {})
