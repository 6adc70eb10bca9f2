from collections.abc import Mapping

import pytest

from log_shipper.shipper.monitor.output_probe import OutputProbe


class Broker:
    """A destination that answers or not, with its errors."""

    def __init__(self) -> None:
        self.up = False
        self.asked = 0
        self.failing = False
        self.problem = ""
        self.errors = self

    def reach(self, timeout: float) -> bool:
        self.asked += 1
        return self.up

    def counts(self) -> Mapping[str, int]:
        return {}

    def waiting(self) -> Mapping[str, str]:
        return {}

    def note_response(self) -> None:
        self.failing = False


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_it_asks_until_the_broker_has_answered_once(broker: Broker) -> None:
    probe = OutputProbe(broker, lambda: True)
    probe.step()
    assert not probe.reached
    broker.up = True
    probe.step()
    assert probe.reached
    broker.up = False
    probe.step()
    assert (probe.reached, broker.asked) == (True, 2)


def test_an_error_is_over_when_the_broker_answers_while_there_is_nothing_to_deliver(broker: Broker) -> None:
    idle = False
    probe = OutputProbe(broker, lambda: idle)
    broker.up = broker.failing = True
    probe.step()
    probe.step()
    assert broker.failing, "what is in flight shows it"
    idle = True
    broker.up = False
    probe.step()
    assert broker.failing
    broker.up = True
    probe.step()
    assert not broker.failing


def test_its_thread_ends(broker: Broker) -> None:
    probe = OutputProbe(broker, lambda: True)
    probe.start()
    probe.close()
    assert not probe._thread.is_alive()
