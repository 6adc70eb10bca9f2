"""API objects, reduced to the parts that the agent uses. An object may be of another version or damaged: anything
undocumented counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_documents import object_of, objects_of, text_of, texts_of

# The kubelet names the files of a static pod by the value of this annotation instead of the API server's uid.
# config.hash has the same value, but anyone may set it; this one cannot be changed, and the kubelet deletes a foreign
# pod that has it.
STATIC_UID = "kubernetes.io/config.mirror"
_RUNTIME = "://"


@dataclass(frozen=True, slots=True)
class Container:
    """A container, of any kind: ordinary, init or ephemeral. `id` and `runtime` are empty until it is created;
    `previous` is the id before its last restart. `ports`: number by name, or by the number as text without a name.
    """

    name: str
    image: str
    id: str = ""
    runtime: str = ""
    previous: str = ""
    restarts: int = 0
    is_running: bool = False
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of an object: `kind`, such as ReplicaSet, and `name`."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """The common part of objects; `namespace` is empty for cluster-wide ones. `version` changes with each change."""

    name: str
    uid: str
    namespace: str
    version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Node(Named):
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class Pod(Named):
    """A pod. `phase` is Pending, Running, Succeeded, Failed or Unknown; `is_deleting`: its end was requested.
    `cron_job`: the owner of its job, if requested.
    """

    node: str = ""
    ip: str = ""
    phase: str = ""
    is_deleting: bool = False
    owner: Owner | None = None
    cron_job: str = ""
    containers: tuple[Container, ...] = ()

    @property
    def static_uid(self) -> str:
        """Return the uid in file names of a static pod; empty for others."""
        return self.annotations.get(STATIC_UID, "")

    @property
    def uids(self) -> tuple[str, ...]:
        """Return the uids that its files may be named by."""
        static = self.static_uid
        return (self.uid, static) if static and static != self.uid else (self.uid,)

    @property
    def is_terminated(self) -> bool:
        """Return True if none of its containers runs, or will."""
        ends = self.is_deleting or self.phase not in ("Running", "Pending")
        return ends and not any(container.is_running for container in self.containers)


def namespace_of(document: Doc) -> Named:
    return Named(*_named(document))


def node_of(document: Doc) -> Node:
    addresses = objects_of(object_of(document.get("status")).get("addresses"))
    hostnames = (address.get("address") for address in addresses if address.get("type") == "Hostname")
    return Node(*_named(document), hostname=text_of(next(hostnames, "")))


def pod_of(document: Doc) -> Pod:
    metadata, spec, status = (object_of(document.get(part)) for part in ("metadata", "spec", "status"))
    return Pod(
        *_named(document),
        node=text_of(spec.get("nodeName")),
        ip=text_of(status.get("podIP")),
        phase=text_of(status.get("phase")),
        is_deleting=bool(metadata.get("deletionTimestamp")),
        owner=owner_of(document),
        containers=tuple(_containers(spec, status)),
    )


def owner_of(document: Doc) -> Owner | None:
    """Return the controller of an object."""
    for owner in objects_of(object_of(document.get("metadata")).get("ownerReferences")):
        if owner.get("controller") is True:
            return Owner(text_of(owner.get("kind")), text_of(owner.get("name")))
    return None


def _named(document: Doc) -> tuple[str, str, str, str, Mapping[str, str], Mapping[str, str]]:
    metadata = object_of(document.get("metadata"))
    name, uid, namespace, version = (
        text_of(metadata.get(key)) for key in ("name", "uid", "namespace", "resourceVersion")
    )
    return name, uid, namespace, version, texts_of(metadata.get("labels")), texts_of(metadata.get("annotations"))


def _containers(spec: Doc, status: Doc) -> Iterator[Container]:
    for listed, statuses in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
        ("ephemeralContainers", "ephemeralContainerStatuses"),
    ):
        states = {text_of(state.get("name")): state for state in objects_of(status.get(statuses))}
        for container in objects_of(spec.get(listed)):
            name = text_of(container.get("name"))
            yield _container(container, states.get(name, {}))


def _container(spec: Doc, status: Doc) -> Container:
    runtime, _, identity = text_of(status.get("containerID")).rpartition(_RUNTIME)
    ended = object_of(object_of(status.get("lastState")).get("terminated"))
    restarts = status.get("restartCount")
    ports = {
        text_of(port.get("name")) or str(port["containerPort"]): port["containerPort"]
        for port in objects_of(spec.get("ports"))
        if isinstance(port.get("containerPort"), int)
    }
    return Container(
        name=text_of(spec.get("name")),
        image=text_of(status.get("image")) or text_of(spec.get("image")),
        id=identity,
        runtime=runtime,
        previous=text_of(ended.get("containerID")).rpartition(_RUNTIME)[2],
        restarts=restarts if isinstance(restarts, int) else 0,
        is_running="running" in object_of(status.get("state")),
        ports=ports,
    )
