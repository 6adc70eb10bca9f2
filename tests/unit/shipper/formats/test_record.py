import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.formats.record import Agent, file_member, group_name, static_members, user_name
from tests.builders import members


def test_without_tags_and_fields_there_is_nothing_to_add() -> None:
    assert static_members((), {}, {}) == {}


def test_tags_come_before_fields() -> None:
    assert static_members(("a",), {"env": "prod"}, {}) == {"tags": ["a"], "fields": {"env": "prod"}}


def test_under_root_the_fields_are_members_of_their_own() -> None:
    assert static_members(("a",), {}, {"env": "prod", "n": 1}) == {"tags": ["a"], "env": "prod", "n": 1}


AGENT = Agent("web-1", "web-1", "an id", "1")
FILE = file_member("f", "/a.log", 1, 2)


def test_what_records_of_a_file_share_is_in_the_order_of_the_contract() -> None:
    shared = members(AGENT, "log", "app", FILE, static_members(("a",), {"env": "prod"}, {"team": "x"}))
    assert list(shared) == ["log", "tags", "fields", "team", "input", "host", "agent", "ecs"]


def test_a_field_under_root_takes_precedence_over_a_member_of_the_record() -> None:
    rooted = {"agent": "mine", "host": {"role": "db"}, "input": {"type": "x"}, "log": {"level": "info"}}
    shared = members(AGENT, "log", "app", FILE, static_members((), {}, rooted))
    assert (shared["agent"], shared["host"]) == ("mine", {"name": "web-1", "role": "db"})
    assert (shared["input"], shared["log"]) == ({"type": "x", "id": "app"}, {"file": FILE, "level": "info"})


def test_below_fields_any_name_will_do() -> None:
    assert static_members((), {"message": "x"}, {}) == {"fields": {"message": "x"}}


def test_a_value_that_json_cannot_hold_stops_the_start() -> None:
    with pytest.raises(StartError, match="64-bit"):
        static_members((), {"n": 10**30}, {})


def test_an_owner_without_a_name_is_a_number() -> None:
    assert (user_name(2**31 - 7), group_name(2**31 - 7)) == ("2147483641", "2147483641")
