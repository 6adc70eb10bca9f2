"""Containers and their events, as the Engine API describes them. What is of another type there is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

SHORT_ID = 12  # characters of an id that Docker shows, and finds a container by


class Port(NamedTuple):
    """A port of a container: within it (`private`) and on the host (`public`, 0 if it is not published)."""

    private: int
    public: int
    protocol: str


@dataclass(frozen=True, slots=True)
class DockerContainer:
    """`name` has no leading slash; `addresses` are those of its networks, none with the host's network."""

    id: str
    name: str
    image: str
    labels: dict[str, str]
    is_running: bool
    addresses: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerEvent:
    """`time` is in nanoseconds since 1970. `container` is what the event says of it, which is less than a listing."""

    action: str
    time: int
    container: DockerContainer


def listed(document: Any) -> DockerContainer | None:
    """Return a container as `GET /containers/json` lists it; None if it has no id."""
    entry = _object(document)
    identity = entry.get("Id")
    if not isinstance(identity, str) or not identity:
        return None
    networks = _object(_object(entry.get("NetworkSettings")).get("Networks")).values()
    addresses = (_object(network).get("IPAddress") for network in networks)
    return DockerContainer(
        identity,
        _own_name(entry.get("Names")),
        _text(entry.get("Image")),
        _texts(entry.get("Labels")),
        # A paused one is not running, and has not ended.
        is_running=entry.get("State") in ("running", "paused", "restarting"),
        addresses=tuple(address for address in addresses if isinstance(address, str) and address),
        ports=tuple(_ports(entry.get("Ports"))),
    )


def event_of(document: Any) -> ContainerEvent | None:
    """Return an event of `GET /events`; None if it is not one of a container."""
    entry = _object(document)
    actor = _object(entry.get("Actor"))
    identity, action = actor.get("ID"), entry.get("Action")
    if entry.get("Type") != "container" or not isinstance(identity, str) or not isinstance(action, str):
        return None
    # The labels are among the attributes, and so are the name, the image, and what the action adds.
    attributes = _texts(actor.get("Attributes"))
    name, image = attributes.pop("name", ""), attributes.pop("image", "")
    container = DockerContainer(identity, name, image, attributes, is_running=action == "start")
    time = entry.get("timeNano")
    return ContainerEvent(action, time if isinstance(time, int) else 0, container)


def _own_name(names: Any) -> str:
    """Return the container's own name: other containers' links to it are names, too, with a second slash."""
    texts = [name.removeprefix("/") for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return next((name for name in texts if "/" not in name), texts[0] if texts else "")


def _ports(entries: Any) -> list[Port]:
    ports = []
    for entry in map(_object, entries if isinstance(entries, list) else ()):
        private, public = entry.get("PrivatePort"), entry.get("PublicPort")
        if isinstance(private, int):
            ports.append(Port(private, public if isinstance(public, int) else 0, _text(entry.get("Type"))))
    return sorted(set(ports))  # one that is published for IPv4 and for IPv6 is listed twice


def _texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in _object(value).items() if isinstance(text, str)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
