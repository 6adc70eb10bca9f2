"""Which of the clouds that answer is taken, and when."""

import logging
from collections.abc import Callable

import pytest

from log_shipper.shipper.cloud.providers import Provider
from log_shipper.shipper.cloud.search import CloudSearch
from log_shipper.shipper.cloud.service import NoMetadata, Service
from log_shipper.shipper.event import Doc
from tests.fakes import ManualClock

TIMEOUT = 3.0


class Clouds:
    """Services of which the test decides when they answer: none runs on a thread."""

    def __init__(self, *names: str) -> None:
        self.clock = ManualClock()
        self.woken = 0
        self.works: dict[str, Callable[[], None]] = {}
        self.answers: dict[str, Doc] = {}
        self.search = CloudSearch([self._provider(name) for name in names], TIMEOUT, self.clock, self._wake)
        self.search.start(self._service, self._begin)

    def answer(self, *names: str, here: bool = True) -> None:
        """Let services answer; without `here` they have no metadata."""
        for name in names:
            self.answers[name] = {"cloud": {"provider": name}} if here else {}
            self.works.pop(name)()

    @property
    def taken(self) -> str | None:
        return self.search.members["cloud"]["provider"] if self.search.members else None

    def _provider(self, name: str) -> Provider:
        return Provider(name, "h", lambda service: self._fetched(name))

    def _fetched(self, name: str) -> Doc:
        if not self.answers[name]:
            raise NoMetadata("it is another cloud")
        return self.answers[name]

    def _service(self, provider: Provider, deadline: float) -> Service:
        assert deadline == self.search.until
        return Service(provider.host, deadline, self.clock)

    def _begin(self, work: Callable[[], None], name: str) -> None:
        self.works[name.removeprefix("cloud-")] = work

    def _wake(self) -> None:
        self.woken += 1


def test_all_are_asked_at_once_and_the_first_that_can_win_does() -> None:
    clouds = Clouds("aws", "gcp", "openstack")
    assert list(clouds.works) == ["aws", "gcp", "openstack"]
    assert not clouds.search.is_done()
    clouds.answer("openstack")
    assert not clouds.search.is_done(), "aws has the same paths, and may answer yet"
    clouds.answer("aws", here=False)
    assert (clouds.search.is_done(), clouds.woken) == (False, 0)
    clouds.answer("gcp", here=False)
    assert (clouds.search.is_done(), clouds.woken, clouds.taken) == (True, 1, "openstack")


def test_one_that_wins_over_all_others_waits_for_none() -> None:
    clouds = Clouds("aws", "gcp", "openstack")
    clouds.answer("aws")
    assert (clouds.search.is_done(), clouds.taken) == (True, "aws")
    clouds.answer("gcp", "openstack")
    assert (clouds.woken, clouds.taken) == (1, "aws")


def test_when_the_time_is_over_the_best_answer_is_taken_and_later_ones_change_nothing() -> None:
    clouds = Clouds("aws", "gcp", "openstack")
    clouds.answer("openstack")
    clouds.clock.advance(TIMEOUT - 0.001)
    assert not clouds.search.is_done()
    clouds.clock.advance(0.001)
    assert (clouds.search.is_done(), clouds.taken) == (True, "openstack")
    clouds.answer("aws")
    assert clouds.taken == "openstack"


def test_elsewhere_it_is_over_when_all_have_refused(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "log_shipper.shipper.cloud")
    clouds = Clouds("aws", "gcp")
    clouds.answer("gcp", "aws", here=False)
    assert (clouds.search.is_done(), clouds.woken, clouds.search.members) == (True, 1, {})
    assert [record.getMessage() for record in caplog.records] == [
        "add_cloud_metadata: no response from aws, gcp within 3s. Events get no cloud fields until the next start. If "
        "the host is in no cloud, remove the processor"
    ]


def test_without_providers_nothing_is_awaited() -> None:
    assert Clouds().search.is_done()


def test_a_system_without_threads_has_no_cloud() -> None:
    def no_thread(work: Callable[[], None], name: str) -> None:
        raise RuntimeError("can't start new thread")

    clouds = Clouds()
    search = CloudSearch([Provider("aws", "h", lambda service: {})], TIMEOUT, clouds.clock, lambda: None)
    search.start(clouds._service, no_thread)
    assert search.is_done()
