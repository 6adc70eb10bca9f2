import os
import signal
import threading

from log_shipper.spark_sink.platform.stop_signals import SIGNALS, stop_signals


def test_the_first_signal_asks_and_the_next_would_end_the_process() -> None:
    stopping = threading.Event()
    with stop_signals(stopping):
        assert not stopping.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping.is_set()
        assert [signal.getsignal(number) for number in SIGNALS] == [signal.SIG_DFL, signal.SIG_DFL]


def test_what_was_there_before_is_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with stop_signals(threading.Event()):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
