"""A call on a thread of its own."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from log_shipper.shipper.output.background import Background

SECONDS = 60.0


class Client:
    """Stands for one of Kafka, whose end blocks."""


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_call_that_has_failed_raises_its_error_where_it_is_checked() -> None:
    def fail() -> None:
        raise ValueError("mine")

    background = Background(fail, "test")
    assert background.wait(SECONDS)
    with pytest.raises(ValueError, match="mine"):
        background.check()


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_has_ended_keeps_nothing_of_what_it_used(fails: bool) -> None:
    clients = [Client()]
    reference = weakref.ref(clients[0])

    def use() -> None:
        client = clients.pop()
        if fails:
            raise ValueError(str(client))

    background = Background(use, "test")
    assert background.wait(SECONDS)
    assert reference() is None


def test_a_call_that_has_ended_is_kept_no_longer() -> None:
    client = Client()
    reference = weakref.ref(client)
    background = Background(client.__hash__, "test")  # type: ignore[arg-type]  # what it returns does not matter
    assert background.wait(SECONDS)
    del client
    assert reference() is None
