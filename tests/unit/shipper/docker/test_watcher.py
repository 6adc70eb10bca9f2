"""The containers of a daemon, as they are now."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from log_shipper.runtime.http import UnixSocket
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.docker.client import DockerClient
from log_shipper.shipper.docker.containers import DockerContainer
from log_shipper.shipper.docker.watcher import Watcher
from tests.docker_api import DockerApi, existing
from tests.fakes import ManualClock

SECONDS = 30.0  # that a change may take
ID, OTHER, BRIEF = "ab" * 32, "cd" * 32, "ef" * 32


class Notes:
    """A listener, whose notes a test takes in order."""

    def __init__(self) -> None:
        self.notes: SimpleQueue[tuple[str, str]] = SimpleQueue()
        self.looks: SimpleQueue[None] = SimpleQueue()

    def started(self, container: DockerContainer) -> None:
        self.notes.put(("started", container.name))

    def stopped(self, container: DockerContainer) -> None:
        self.notes.put(("stopped", container.name))

    def looked(self) -> None:
        self.looks.put(None)

    def next(self) -> tuple[str, str]:
        return self.notes.get(timeout=SECONDS)

    def none(self) -> bool:
        return self.notes.empty()


class Host:
    """A machine with Docker, and a watcher of it."""

    def __init__(self, path: Path) -> None:
        self.docker = DockerApi(path)
        self.clock = ManualClock()
        self.listener = Notes()
        self.client = DockerClient(UnixSocket(path), self.clock)
        self.watcher = Watcher(self.client, self.clock, 60.0, self.listener, Backoff(0.001, 0.01))

    def start(self) -> None:
        self.watcher.start()
        self.wait_until(lambda: self.watcher.attempted)

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self.listener.looks.get(timeout=SECONDS)

    def await_attempts(self, count: int) -> None:
        """Wait for attempts that fail: each of them is a look."""
        for _ in range(count):
            self.listener.looks.get(timeout=SECONDS)

    def has_followed(self) -> bool:
        """Return True if the last event is handled completely."""
        return self.watcher._following._since == self.docker.last_event

    def name(self, identity: str) -> str | None:
        container = self.watcher.container(identity)
        return None if container is None else container.name


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path / "docker.sock")
    with host.docker:
        yield host
        host.watcher.close()


def test_those_that_are_there_come_first(host: Host) -> None:
    host.docker.run(ID, "web")
    host.docker.create(OTHER, "db")
    host.start()
    assert host.listener.next() == ("started", "web")
    assert host.listener.none(), "one that was only created does not run"
    assert (host.watcher.attempted, host.watcher.connected) == (True, True)
    assert [container.name for container in existing(host.watcher)] == ["web", "db"]
    assert (host.name(ID), host.name(OTHER), host.name(BRIEF)) == ("web", "db", None)


def test_a_container_is_known_by_the_beginning_of_its_id(host: Host) -> None:
    host.docker.run(ID, "web")
    host.start()
    assert (host.name(ID[:12]), host.name(ID[:20]), host.name(ID[:11])) == ("web", "web", None)
    assert host.name(ID[:12] + "00000000") is None


def test_containers_that_come_and_go_are_reported(host: Host) -> None:
    host.start()
    host.docker.run(ID, "web")
    assert host.listener.next() == ("started", "web")
    host.docker.rename(ID, "shop")
    assert host.listener.next() == ("started", "shop")
    host.docker.stop(ID)
    assert host.listener.next() == ("stopped", "shop")
    host.docker.start_container(ID)
    assert host.listener.next() == ("started", "shop")


def test_one_that_ended_before_it_was_looked_at_is_reported_all_the_same(host: Host) -> None:
    host.start()
    host.docker.run_briefly(BRIEF, "job")
    assert [host.listener.next(), host.listener.next()] == [("started", "job"), ("stopped", "job")]
    assert host.name(BRIEF) == "job", "its lines are read now"
    assert existing(host.watcher) == []


def test_an_event_that_comes_late_reports_nothing_twice(host: Host) -> None:
    host.docker.run(ID, "web")
    host.start()
    assert host.listener.next() == ("started", "web")
    host.docker.replay_while_it_is_removed(ID)
    assert host.listener.next() == ("stopped", "web")
    host.docker.run(OTHER, "db")
    assert host.listener.next() == ("started", "db"), "and nothing of web before it"


def test_a_removed_one_is_kept_until_no_one_asks_for_it(host: Host) -> None:
    host.docker.run(ID, "web")
    host.start()
    host.docker.remove(ID)
    assert [host.listener.next(), host.listener.next()] == [("started", "web"), ("stopped", "web")]
    for _ in range(3):
        host.clock.advance(50)
        assert host.name(ID) == "web"
    host.clock.advance(61)
    assert host.name(ID) is None


def test_removed_ones_do_not_pile_up(host: Host) -> None:
    host.start()
    for number in range(10):
        come_and_go(host, f"{number:064}")
    assert len(host.watcher._state.by_id) == len(host.watcher._state.by_short_id) == 1


def come_and_go(host: Host, identity: str) -> None:
    host.docker.run(identity, "job")
    host.docker.remove(identity)
    host.wait_until(host.has_followed)  # to the end of what is done at a removal
    assert (host.name(identity), existing(host.watcher)) == ("job", [])
    host.clock.advance(61)


def test_what_happened_while_the_stream_was_down_is_made_up_for(host: Host) -> None:
    host.docker.run(ID, "web")
    host.docker.run(OTHER, "db")
    host.start()
    assert {host.listener.next(), host.listener.next()} == {("started", "web"), ("started", "db")}
    host.docker.refusal = 503, "not now"
    host.docker.break_streams()
    host.wait_until(lambda: not host.watcher.connected)
    assert (host.watcher.attempted, host.watcher.connected) == (True, False)
    host.docker.remove(OTHER)
    host.docker.run_briefly(BRIEF, "job")
    host.docker.refusal = None
    assert host.listener.next() == ("stopped", "db")
    assert [host.listener.next(), host.listener.next()] == [("started", "job"), ("stopped", "job")]
    assert host.name(ID) == "web"
    assert host.listener.none(), "what did not change is not reported again"


def test_a_stream_continues_where_the_one_before_it_ended(host: Host) -> None:
    host.start()
    host.docker.run(ID, "web")
    assert host.listener.next() == ("started", "web")
    host.wait_until(host.has_followed)
    host.docker.break_streams()
    host.wait_until(lambda: sum(path.startswith("/events?") for path in host.docker.asked) == 2)
    streams = [path for path in host.docker.asked if path.startswith("/events?")]
    assert "since=1763000000&" in streams[0]
    assert "since=1763000000.002000000&" in streams[1]


def test_a_daemon_that_is_started_again_is_found(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "log_shipper.shipper.docker")
    host.docker.run(ID, "web")
    host.start()
    assert host.listener.next() == ("started", "web")
    host.docker.close()
    host.wait_until(lambda: "no Docker at " in caplog.text)
    host.docker.run(OTHER, "db")
    host.docker.start()
    assert host.listener.next() == ("started", "db")
    host.wait_until(lambda: host.watcher.connected)  # which is so after the log line
    others = ("Docker at ", "cannot query Docker at ")  # the second one if the daemon ends within a request
    messages = [
        message for message in map(logging.LogRecord.getMessage, caplog.records) if not message.startswith(others)
    ]
    assert messages[0].startswith("no Docker at ")
    assert ": 2 containers" in caplog.text
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_a_refusal_is_a_warning_once(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    host.docker.refusal = 403, "denied by a plugin"
    host.start()
    host.await_attempts(3)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "denied by a plugin. Until it responds, container metadata comes only from files" in caplog.text
    assert (host.watcher.attempted, host.watcher.connected) == (True, False)


def test_a_watcher_that_no_one_has_ends(host: Host) -> None:
    host.start()
    thread = host.watcher._thread
    host.watcher = Watcher(host.client, host.clock)
    thread.join(SECONDS)
    assert not thread.is_alive()
