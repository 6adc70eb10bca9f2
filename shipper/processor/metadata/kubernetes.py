"""add_kubernetes_metadata: the pod that a log belongs to, from its path and from the files of the container runtime."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from config.shipper.processors.runtime_metadata import AddKubernetesMetadataConfig
from shipper.event import Doc
from shipper.json_fields import copied
from shipper.processor.base import ProcessorContext
from shipper.processor.events import Event, Events
from shipper.processor.fields import MISSING, Path
from shipper.processor.metadata.facts import Facts, Sharing, leaves
from shipper.processor.metadata.pod_paths import PodPlace, pod_on_disk
from shipper.processor.metadata.runtime_files import FULL_ID, Container, RuntimeFiles, labelled

LOG_PATH: Path = ("log", "file", "path")
LINK_EVERY = 5.0  # seconds between two checks of a path's links, while something is unknown
MOST_CACHED = 10_000
# The labels and annotations of runtimes with these values: Docker's (set by the kubelet), and containerd's.
KEYS = {
    "pod": ("io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name"),
    "uid": ("io.kubernetes.pod.uid", "io.kubernetes.cri.sandbox-uid"),
    "namespace": ("io.kubernetes.pod.namespace", "io.kubernetes.cri.sandbox-namespace"),
    "container": ("io.kubernetes.container.name", "io.kubernetes.cri.container-name"),
}
SANDBOX = "io.kubernetes.sandbox.id"
ANNOTATION = "annotation."  # before the name of an annotation among Docker's labels


class AddKubernetesMetadata:
    def __init__(
        self,
        config: AddKubernetesMetadataConfig,
        context: ProcessorContext,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._config = config
        self._clock = context.clock
        self._root = FilePath(config.hostfs)
        self._files = RuntimeFiles(self._root, context.clock, config.cleanup_timeout)
        self._sharing = Sharing(config.name, frozenset({"log.file", "container", "kubernetes"}), context.metrics)
        self._node = config.node or environment.get("NODE_NAME", "")
        self._places: dict[str, tuple[float, PodPlace]] = {}
        self._facts: dict[str, Facts] = {}

    def run(self, events: Events, indices: Sequence[int]) -> None:
        if self._sharing.shared(events, indices):
            facts = self._of_path(events.get(indices[0], LOG_PATH))
            if facts is not None:
                self._sharing.run(events, indices, facts, lambda event: self._write(event, facts))
        else:
            self._sharing.event_by_event(events, indices, self._enrich)

    def _enrich(self, event: Event) -> None:
        facts = self._of_path(event.get(LOG_PATH))
        if facts is not None:
            self._write(event, facts)

    def _write(self, event: Event, facts: Facts) -> None:
        exists = event.get(("kubernetes",)) is not MISSING
        if exists and not self._config.append_fields:
            return
        for path, value in leaves(facts.members):
            if not exists or event.get(path) is MISSING:
                event.put(path, copied(value))

    def _of_path(self, path: Any) -> Facts | None:
        if not isinstance(path, str) or not self._is_matched(path):
            return None
        place = self._place(path)
        if not place.known:
            return None
        members = self._members(place, self._files.container(place.id, path) if place.id else None)
        if not members:
            return None
        before = self._facts.get(path)
        if before is None or before.members != members:
            if len(self._facts) >= MOST_CACHED:
                self._facts.clear()
            before = self._facts[path] = Facts(self, members)
        return before

    def _is_matched(self, path: str) -> bool:
        return self._config.default_matchers or path.startswith(self._config.logs_paths)

    def _place(self, path: str) -> PodPlace:
        expires, place = self._places.get(path, (0.0, PodPlace()))
        now = self._clock.monotonic()
        if now >= expires:
            place = pod_on_disk(path, str(self._root / "var/log/containers"))
            complete = not place.known or (place.id and place.uid)
            if len(self._places) >= MOST_CACHED:
                self._places.clear()
            self._places[path] = (float("inf") if complete else now + LINK_EVERY), place
        return place

    def _members(self, place: PodPlace, container: Container | None) -> Doc:
        pod = place
        if container is not None:
            facts = {
                name: next((container.labels[key] for key in keys if key in container.labels), "")
                for name, keys in KEYS.items()
            }
            pod = place.with_more(PodPlace(**facts))
        if not pod.pod and not pod.uid:
            return {}  # a container that belongs to no pod
        kubernetes: Doc = {
            "pod": _present(name=pod.pod, uid=pod.uid),
            "namespace": pod.namespace,
            "container": _present(name=pod.container),
            "node": _present(name=self._node),
        }
        kubernetes |= self._labels(container)
        members: Doc = {"kubernetes": {name: value for name, value in kubernetes.items() if value}}
        if pod.id:
            members["container"] = {"id": pod.id}
        if container is not None:
            members["container"] = _present(id=container.id, runtime=container.runtime)
            if container.image:
                members["container"]["image"] = {"name": container.image}
        return members

    def _labels(self, container: Container | None) -> Doc:
        """Return labels and annotations of the pod: Docker has them as labels of its sandbox."""
        sandbox = container.labels.get(SANDBOX, "") if container is not None else ""
        pod = self._files.container(sandbox) if FULL_ID.fullmatch(sandbox) else None
        if pod is None:
            return {}
        config = self._config
        labels = {
            name: value for name, value in pod.labels.items() if not name.startswith(("io.kubernetes.", ANNOTATION))
        }
        wanted = {
            name: value
            for name, value in labels.items()
            if (not config.include_labels or name in config.include_labels) and name not in config.exclude_labels
        }
        notes = {
            name: pod.labels[ANNOTATION + name]
            for name in config.include_annotations
            if ANNOTATION + name in pod.labels
        }
        return {
            "labels": labelled(wanted, dedot=config.labels_dedot),
            "annotations": labelled(notes, dedot=config.annotations_dedot),
        }


def _present(**values: str) -> Doc:
    return {name: value for name, value in values.items() if value}
