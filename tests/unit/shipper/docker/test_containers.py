"""Containers and events as the Engine API writes them."""

from itertools import product
from typing import Any

import pytest

from log_shipper.shipper.docker.containers import ContainerEvent, DockerContainer, event_of, parse_listed

ID = "ab" * 32
# As a daemon (28.3) lists it, without what is not read.
WEB = {
    "Id": ID,
    "Names": ["/proxy/web", "/web"],
    "Image": "nginx:1.25",
    "Command": "/docker-entrypoint.sh nginx",
    "Labels": {"app": "web", "org.opencontainers.image.title": "x"},
    "State": "running",
    "Status": "Up 2 hours",
    "Ports": [
        {"IP": "0.0.0.0", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"PrivatePort": 53, "Type": "udp"},
    ],
    "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2"}, "none": {"IPAddress": ""}}},
}


def test_a_listing_has_all_that_is_known() -> None:
    labels = {"app": "web", "org.opencontainers.image.title": "x"}
    assert parse_listed(WEB) == DockerContainer(
        ID, "web", "nginx:1.25", labels, is_running=True, addresses=("172.17.0.2",), ports=(53, 80)
    )


@pytest.mark.parametrize(
    ("state", "is_running"),
    [("running", True), ("paused", True), ("restarting", True), ("created", False), ("exited", False), (None, False)],
)
def test_what_may_still_log_is_running(state: str | None, is_running: bool) -> None:
    container = parse_listed(WEB | {"State": state})
    assert container is not None
    assert container.is_running is is_running


@pytest.mark.parametrize("document", [None, [], "x", {}, {"Id": ""}, {"Id": 7}])
def test_what_has_no_id_is_no_container(document: Any) -> None:
    assert parse_listed(document) is None


def test_what_is_of_another_type_is_left_out(subtests: pytest.Subtests) -> None:
    wrong: tuple[object, ...] = (None, 7, "x", [], {}, [7], {"x": 7}, [[]], {"Networks": 7}, {"Networks": {"a": 1}})
    for member, value in product(("Names", "Image", "Labels", "State", "Ports", "NetworkSettings"), wrong):
        with subtests.test(f"{member}: {value}"):
            container = parse_listed(WEB | {member: value})
            assert container is not None
            assert container.id == ID


EVENT = {
    "status": "start",
    "id": ID,
    "from": "nginx:1.25",
    "Type": "container",
    "Action": "start",
    "Actor": {"ID": ID, "Attributes": {"image": "nginx:1.25", "name": "web", "app": "web"}},
    "scope": "local",
    "time": 1763000000,
    "timeNano": 1763000000123456789,
}


def test_an_event_has_name_image_and_labels() -> None:
    container = DockerContainer(ID, "web", "nginx:1.25", {"app": "web"}, is_running=True)
    assert event_of(EVENT) == ContainerEvent("start", 1763000000123456789, container)


@pytest.mark.parametrize(
    "document", [None, {}, EVENT | {"Type": "network"}, EVENT | {"Actor": 7}, EVENT | {"Action": 7}]
)
def test_other_events_are_none_of_containers(document: Any) -> None:
    assert event_of(document) is None
