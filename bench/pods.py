"""Starting and ending pods of a node: the API server, the runtime that writes their logs, and the kubelet that deletes
the logs.

python -m bench.pods DIRECTORY COUNT    a separate process, so that only the agent's cost is measured

Prints one document per line: when the first pods run, and after each command `run SECONDS ENDED` from stdin, with ENDED
pods ending per minute.
"""

import hashlib
import json
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from bench.data import line
from log_shipper.shipper.event import Doc
from tests.kubernetes_api import KubernetesApi, container, kubeconfig, namespace, node, pod

NODE = "n1"
FIRST_LINES = 10  # of each pod, when it begins
RATE = 100  # lines per second, of all pods in turn
DELETED_AFTER = 5.0  # seconds from the end of a pod to the deletion of its log
PAUSE = 0.01


@dataclass(slots=True)
class NodeProgress:
    """The work of a node so far. `events`: those sent to a watch of pods."""

    lines: int = 0
    events: int = 0
    ended: int = 0


@dataclass(frozen=True, slots=True)
class RunningPod:
    name: str
    identity: str  # of its container
    log: Path
    link: Path

    def document(self, **changes: object) -> Doc:
        changes.setdefault("containers", [container("web", self.identity)])
        labels = {"app": "web", "app.kubernetes.io/name": "web"}
        annotations = {"co.elastic.logs/exclude_lines": "^DEBUG"}
        return pod(self.name, node=NODE, labels=labels, annotations=annotations, **changes)


@dataclass(slots=True)
class BusyNode:
    """`directory`: logs in the kubelet's layout: pods/<pod>/web/0.log, with links in containers/."""

    directory: Path
    api: KubernetesApi
    written: NodeProgress = field(default_factory=NodeProgress)
    _pods: deque[RunningPod] = field(default_factory=deque)  # oldest first
    _ended: deque[tuple[float, RunningPod]] = field(default_factory=deque)  # with the times to delete their logs
    _begun: int = 0

    def begin(self) -> None:
        """Create a pod, first pending, then running."""
        name = f"web-{self._begun:06d}"
        self._begun += 1
        identity = hashlib.sha256(name.encode()).hexdigest()
        log = self.directory / "pods" / f"shop_{name}_uid-{name}" / "web" / "0.log"
        link = self.directory / "containers" / f"{name}_shop_web-{identity}.log"
        started = RunningPod(name, identity, log, link)
        self._put(started.document(phase="Pending", containers=[container("web", "")]))
        log.parent.mkdir(parents=True)
        self._write(started, FIRST_LINES)
        link.symlink_to(log)
        self._put(started.document())
        self._pods.append(started)

    def end(self, now: float) -> None:
        """End the oldest pod with a last line, as `kubectl delete` does."""
        ended = self._pods.popleft()
        going = ended.document()
        going["metadata"]["deletionTimestamp"] = "2026-11-25T04:00:00Z"
        self._put(going)
        self._write(ended, 1)
        self._put({**going, "status": {**going["status"], "phase": "Succeeded"}})
        self.api.delete("pods", ended.name)
        self.written.events += 1
        self.written.ended += 1
        self._ended.append((now + DELETED_AFTER, ended))

    def run(self, seconds: float, ended_a_minute: float) -> None:
        """Let pods write, end and start, evenly."""
        started = time.monotonic()
        lines = ended = 0
        while (passed := time.monotonic() - started) < seconds:
            for _ in range(int(passed * RATE) - lines):
                lines += 1
                self._write(self._pods[lines % len(self._pods)], 1)
            for _ in range(int(passed * ended_a_minute / 60) - ended):
                ended += 1
                self.end(started + passed)
                self.begin()
            self.delete_logs(started + passed)
            time.sleep(PAUSE)

    def delete_logs(self, now: float) -> None:
        while self._ended and self._ended[0][0] <= now:
            _, ended = self._ended.popleft()
            ended.link.unlink()
            ended.log.unlink()
            ended.log.parent.rmdir()
            ended.log.parent.parent.rmdir()

    def _put(self, document: Doc) -> None:
        self.api.put("pods", document)
        self.written.events += 1

    def _write(self, running: RunningPod, count: int) -> None:
        first = self.written.lines
        self.written.lines += count
        with running.log.open("a") as file:
            file.write("".join(f"2026-11-25T04:00:00.123456789Z stdout F {line(first + i)}\n" for i in range(count)))


def serve(directory: Path, count: int) -> None:
    """Start `count` pods, and execute the commands."""
    with KubernetesApi() as api:
        api.put("namespaces", namespace("shop", team="shop"))
        api.put("nodes", node(NODE, zone="a"))
        (directory / "containers").mkdir(parents=True)
        (directory / "kubeconfig").write_text(json.dumps(kubeconfig(api)))
        busy = BusyNode(directory, api)
        for _ in range(count):
            busy.begin()
        _print(busy.written)
        for command in sys.stdin:
            _, seconds, ended_a_minute = command.split()
            busy.run(float(seconds), float(ended_a_minute))
            _print(busy.written)


def _print(written: NodeProgress) -> None:
    document = {"lines": written.lines, "events": written.events, "ended": written.ended}
    print(json.dumps(document), flush=True)  # noqa: T201 - for the parent process


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
