"""A cache of the cluster's objects, written by the watch threads, and read by any.

A deleted object stays for a while: the last lines of its containers are read after its deletion.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, Literal, TypeVar

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.kubernetes.objects import Named, Pod

Kept = TypeVar("Kept", bound=Named)


@dataclass(frozen=True, slots=True)
class Change:
    kind: Literal["added", "changed", "deleted"]
    pod: Pod


Listener = Callable[[Change], None]


class Deleted:
    """Keys of deleted objects, until they expire."""

    def __init__(self, clock: Clock, keep: float) -> None:
        self._clock = clock
        self._keep = keep
        self._expires: dict[str, float] = {}  # ordered by time

    def add(self, key: str) -> None:
        self._expires.setdefault(key, self._clock.monotonic() + self._keep)

    def discard(self, key: str) -> None:
        self._expires.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self._expires

    def expired(self) -> list[str]:
        """Return and forget the expired keys."""
        now = self._clock.monotonic()
        keys = list(takewhile(lambda key: self._expires[key] <= now, self._expires))
        for key in keys:
            del self._expires[key]
        return keys


class Objects(Generic[Kept]):
    """Objects by name: namespaces, or nodes. `changed` is called after each change, on the watch's thread."""

    def __init__(self, clock: Clock, keep_deleted: float, changed: Callable[[], None]) -> None:
        self._objects: dict[str, Kept] = {}
        self._deleted = Deleted(clock, keep_deleted)
        self._changed = changed

    def get(self, name: str) -> Kept | None:
        return self._objects.get(name)

    def store(self, item: Kept) -> None:
        self._sweep()
        self._deleted.discard(item.name)
        self._objects[item.name] = item
        self._changed()

    def delete(self, item: Kept) -> None:
        self._sweep()
        if item.name in self._objects:
            self._deleted.add(item.name)

    def replace_all(self, items: list[Kept]) -> None:
        for name in self._objects.keys() - {item.name for item in items}:
            self._deleted.add(name)
        for item in items:
            self._deleted.discard(item.name)
            self._objects[item.name] = item
        self._sweep()
        self._changed()

    def _sweep(self) -> None:
        for name in self._deleted.expired():
            del self._objects[name]


class Pods:
    """Pods by uid, by name, and by container id."""

    def __init__(self, clock: Clock, keep_deleted: float) -> None:
        self._lock = threading.RLock()
        self._pods: dict[str, Pod] = {}  # by the API's uid
        self._by_static_uid: dict[str, Pod] = {}  # by the uid in paths of static pods
        self._by_name: dict[tuple[str, str], Pod] = {}
        self._by_container: dict[str, Pod] = {}
        self._deleted = Deleted(clock, keep_deleted)
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        return len(self._pods)

    def get_by_uid(self, uid: str) -> Pod | None:
        return self._pods.get(uid) or self._by_static_uid.get(uid)

    def get_by_name(self, namespace: str, name: str) -> Pod | None:
        """Return the newest pod of this name: pods of a StatefulSet reuse names."""
        return self._by_name.get((namespace, name))

    def get_by_container(self, identity: str) -> Pod | None:
        return self._by_container.get(identity)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener for each change from now on, and for existing pods as if they were added now. It is called
        on the watch's thread, and must not block or raise. Return a function that ends this.
        """
        with self._lock:
            self._listeners.append(listener)
            for uid, pod in self._pods.items():
                if uid not in self._deleted:
                    listener(Change("added", pod))
        return lambda: self._forget(listener)

    def _forget(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.remove(listener)

    def store(self, item: Pod) -> None:
        with self._lock:
            self._put(item)
            self._sweep()

    def delete(self, item: Pod) -> None:
        with self._lock:
            self._delete(item.uid, item)
            self._sweep()

    def replace_all(self, items: list[Pod]) -> None:
        with self._lock:
            for uid in self._pods.keys() - {item.uid for item in items}:
                self._delete(uid, self._pods[uid])
            for item in items:
                self._put(item)
            self._sweep()

    def _put(self, pod: Pod) -> None:
        before = self._pods.get(pod.uid)
        is_back = pod.uid in self._deleted
        if before is not None and before.version == pod.version and not is_back:
            return  # listed again
        self._deleted.discard(pod.uid)
        self._replace(before, pod)
        is_new = before is None or is_back
        self._report(Change("added" if is_new else "changed", pod))

    def _delete(self, uid: str, last: Pod) -> None:
        """Report the end of a pod, with its last state to keep."""
        before = self._pods.get(uid)
        if before is None or uid in self._deleted:
            return
        self._deleted.add(uid)
        self._replace(before, last)
        self._report(Change("deleted", last))

    def _report(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)

    def _replace(self, before: Pod | None, pod: Pod) -> None:
        self._pods[pod.uid] = pod
        self._replace_static(before, pod)
        newest = self._by_name.get((pod.namespace, pod.name))
        if newest is None or newest.uid == pod.uid or pod.uid not in self._deleted:
            self._by_name[pod.namespace, pod.name] = pod
        identities = _identities(pod)
        for identity in identities:
            self._by_container[identity] = pod
        if before is not None:
            for identity in _identities(before) - identities:
                self._by_container.pop(identity, None)

    def _replace_static(self, before: Pod | None, pod: Pod) -> None:
        """Store a static pod by its other uid, unless another existing pod has it."""
        if before is not None and before.static_uid != pod.static_uid:
            self._forget_static(before)
        holder = self._by_static_uid.get(pod.static_uid)
        if pod.static_uid and (holder is None or holder.uid == pod.uid or holder.uid in self._deleted):
            self._by_static_uid[pod.static_uid] = pod

    def _forget_static(self, pod: Pod) -> None:
        holder = self._by_static_uid.get(pod.static_uid)
        if holder is not None and holder.uid == pod.uid:
            del self._by_static_uid[pod.static_uid]

    def _sweep(self) -> None:
        for uid in self._deleted.expired():
            pod = self._pods.pop(uid)
            self._forget_static(pod)
            if self._by_name.get((pod.namespace, pod.name)) is pod:
                del self._by_name[pod.namespace, pod.name]
            for identity in _identities(pod):
                self._by_container.pop(identity, None)


def _identities(pod: Pod) -> set[str]:
    """Return the ids of its containers, and the previous ids of restarted ones."""
    identities = {identity for container in pod.containers for identity in (container.id, container.previous)}
    return identities - {""}
