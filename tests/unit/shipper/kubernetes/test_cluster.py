"""A cluster that processors share: how its pods are asked for, and how it ends."""

import gc
import json
import queue
import threading
from pathlib import Path

import pytest

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.kubernetes.account import find_access
from log_shipper.shipper.kubernetes.cluster import Cluster, Waking
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope
from tests.kubernetes_api import ID, KubernetesApi, job, kubeconfig, namespace, pod

SECONDS = 30.0
SCOPE = WatchScope(node="n1", with_cron_jobs=True)


@pytest.fixture
def config(api: KubernetesApi, tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(json.dumps(kubeconfig(api, token="t")))
    return str(path)


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("kubernetes-")}


def test_what_is_awaited_wakes_the_one_who_waits_and_it_ends_with_him(api: KubernetesApi, config: str) -> None:
    api.token, others = "t", threads()
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    cluster = Cluster.open(find_access(config), SCOPE, SystemClock(), lambda: wakes.put(None))
    api.put("jobs", job("daily-1", "daily"))
    api.put("namespaces", namespace("shop"))
    api.put("pods", pod("web-1", owner=("Job", "daily-1")))
    while (known := cluster.pod("uid-web-1", "", ("", ""))) is None or not cluster.has_all_of(known):
        assert cluster.can_be_awaited()
        if cluster.pod("uid-web-1", "", ("", "")) is None:
            wakes.get(timeout=SECONDS)
    assert known.cron_job == "daily"
    assert cluster.pod("", ID, ("", "")) is cluster.pod("", "", ("shop", "web-1")) is known
    assert cluster.pod("other", "", ("shop", "web-1")) is None
    assert cluster.pod("", "", ("", "web-1")) is None
    assert (cluster.size, cluster.counts().lists >= 1) == (1, True)
    alive = threads() - others
    assert len(alive) == 3
    del cluster
    gc.collect()
    for thread in alive:
        thread.join(SECONDS)
    assert not threads() & alive


class Hasty(Waking):
    """A change comes as soon as one is awaited."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "is_awaited" and value:
            self()


def test_a_change_that_comes_at_once_is_one_that_can_be_awaited(api: KubernetesApi) -> None:
    """Else an event would go without what is known of its pod, as where the right to read pods is missing."""
    wakes: list[None] = []
    waking = Hasty(lambda: wakes.append(None))
    cluster = Cluster(ClusterWatcher(SCOPE, api.access(), SystemClock(), waking), waking)
    assert cluster.can_be_awaited()
    assert wakes == [None]
