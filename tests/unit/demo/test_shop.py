import io
import threading

from demo.shop import FAILS, FIRST, messages, run


class StoppedAfter(threading.Event):
    """Set after so many waits."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self._waits = waits

    def wait(self, timeout: float | None = None) -> bool:
        self._waits -= 1
        return self._waits == 0


def test_one_order_fails_and_the_other_host_has_the_reason() -> None:
    logged = list(messages(FAILS))
    assert [program for program, _ in logged] == ["C", "P", "P", "P", "C"]
    assert all(f"order=A-{FAILS} " in text for _, text in logged)
    error = logged[-1][1].splitlines()
    assert error[0].startswith("ERROR shop.Checkout")
    assert any(text.startswith("    at ") for text in error)
    assert not any("ERROR" in text for _, text in messages(FIRST))


def test_orders_are_logged_until_it_is_stopped() -> None:
    checkout, payments = io.StringIO(), io.StringIO()
    run(checkout, payments, StoppedAfter(5))
    assert [line.split("order=")[1][:6] for line in checkout.getvalue().splitlines()] == ["A-1001", "A-1001", "A-1002"]
    assert payments.getvalue().count("A-1001 ") == 2
