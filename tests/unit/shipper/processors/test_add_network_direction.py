import pytest

from log_shipper.shipper.event import Doc
from tests.processing import processed

DIRECTION = "- add_network_direction: {internal_networks: [private, 2001:db8::/32]}"


def flow(source: object, destination: object) -> Doc:
    return {"message": "x", "source": {"ip": source}, "destination": {"ip": destination}}


@pytest.mark.parametrize(
    ("source", "destination", "direction"),
    [
        ("10.0.0.1", "192.168.1.1", "internal"),
        ("10.0.0.1", "8.8.8.8", "outbound"),
        ("8.8.8.8", "10.0.0.1", "inbound"),
        ("8.8.8.8", "1.1.1.1", "external"),
        ("2001:db8::1", "2001:4860::1", "outbound"),
        ("::ffff:10.0.0.1", "8.8.8.8", "outbound"),
    ],
)
def test_the_direction_follows_from_which_ends_are_internal(source: str, destination: str, direction: str) -> None:
    event = flow(source, destination)
    assert processed(DIRECTION, event) == [{**event, "network": {"direction": direction}}]


@pytest.mark.parametrize("event", [flow("10.0.0.1", "web"), flow(1, 2), {"message": "x", "source": {"ip": "10.0.0.1"}}])
def test_an_event_without_two_addresses_is_not_changed(event: Doc) -> None:
    assert processed(DIRECTION, event) == [event]


def test_fields_can_be_named() -> None:
    options = "{source: a, destination: b, target: c, internal_networks: loopback}"
    (record,) = processed(f"- add_network_direction: {options}", {"message": "x", "a": "127.0.0.1", "b": "8.8.8.8"})
    assert record["c"] == "outbound"
