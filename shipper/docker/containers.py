"""Parses containers and events of the Engine API. Values of unexpected types are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from log_shipper.shipper.formats.json_documents import object_of, objects_of, text_of, texts_of

SHORT_ID = 12  # characters of an id that Docker shows and accepts


@dataclass(frozen=True, slots=True)
class DockerContainer:
    """A container. `name` has no leading slash; `addresses` are those of its networks, none with host networking;
    `ports` are those inside."""

    id: str
    name: str
    image: str
    labels: dict[str, str]
    is_running: bool
    addresses: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerEvent:
    """An event; `time` is in nanoseconds since 1970. `container` has fewer details than a listing."""

    action: str
    time: int
    container: DockerContainer


def parse_listed(document: Any) -> DockerContainer | None:
    """Return a container from `GET /containers/json`; None if it has no id."""
    entry = object_of(document)
    identity = entry.get("Id")
    if not isinstance(identity, str) or not identity:
        return None
    networks = object_of(object_of(entry.get("NetworkSettings")).get("Networks")).values()
    addresses = (object_of(network).get("IPAddress") for network in networks)
    return DockerContainer(
        identity,
        _own_name(entry.get("Names")),
        text_of(entry.get("Image")),
        texts_of(entry.get("Labels")),
        # A paused one is not running, but has not ended.
        is_running=entry.get("State") in ("running", "paused", "restarting"),
        addresses=tuple(address for address in addresses if isinstance(address, str) and address),
        ports=_ports(entry.get("Ports")),
    )


def event_of(document: Any) -> ContainerEvent | None:
    """Return an event from `GET /events`; None if it is not about a container."""
    entry = object_of(document)
    actor = object_of(entry.get("Actor"))
    identity, action = actor.get("ID"), entry.get("Action")
    if entry.get("Type") != "container" or not isinstance(identity, str) or not isinstance(action, str):
        return None
    # Attributes contain the labels, name, image and additions of the action.
    attributes = texts_of(actor.get("Attributes"))
    name, image = attributes.pop("name", ""), attributes.pop("image", "")
    container = DockerContainer(identity, name, image, attributes, is_running=action == "start")
    time = entry.get("timeNano")
    return ContainerEvent(action, time if isinstance(time, int) else 0, container)


def _own_name(names: Any) -> str:
    """Return the container's own name: links from other containers are also names, with a second slash."""
    texts = [name.removeprefix("/") for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return next((name for name in texts if "/" not in name), texts[0] if texts else "")


def _ports(entries: Any) -> tuple[int, ...]:
    ports = (entry.get("PrivatePort") for entry in objects_of(entries))
    return tuple(sorted({port for port in ports if isinstance(port, int)}))  # published for IPv4 and IPv6: listed twice
