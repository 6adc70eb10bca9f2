"""Two programs of a shop, on two hosts, that log the steps of orders. One order fails; the reason is in the log of the
other host.

    python -m demo.shop CHECKOUT_LOG PAYMENTS_LOG

Ends on SIGTERM.
"""

import argparse
import itertools
import signal
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

FIRST, FAILS, LAST = 1001, 1007, 1999  # order numbers; an early one fails
EVERY = 0.12  # seconds between messages

PAID = """\
C INFO shop.Checkout - order=A-{number} received, 2 items, 84.90 EUR
P INFO shop.Payments - order=A-{number} charge of 84.90 EUR started
P INFO shop.Payments - order=A-{number} charge accepted by the card processor
C INFO shop.Checkout - order=A-{number} paid"""
FAILED = """\
C INFO shop.Checkout - order=A-{number} received, 1 item, 312.00 EUR
P INFO shop.Payments - order=A-{number} charge of 312.00 EUR started
P WARN shop.ConnectionPool - order=A-{number} waits: 50 of 50 connections are in use, 49 of them by the nightly export
P ERROR shop.Payments - order=A-{number} charge not sent: no connection to the card processor within 5 s
C ERROR shop.Checkout - order=A-{number} failed: the payment service answered 503
  shop.PaymentFailed: 503 Service Unavailable
      at shop.PaymentClient.charge(PaymentClient.java:87)
      at shop.Checkout.pay(Checkout.java:214)
      at shop.Checkout.submit(Checkout.java:141)
  Caused by: java.net.http.HttpTimeoutException: request timed out after 5000 ms
      at shop.Http.send(Http.java:52)
      ... 3 more"""


def messages(number: int) -> Iterator[tuple[str, str]]:
    """Yield the log messages of an order: the program (C or P), and the text without time, multiline with a stack
    trace."""
    text = (FAILED if number == FAILS else PAID).format(number=number)
    for message in text.replace("\n  ", "\0").split("\n"):
        yield message[0], message[2:].replace("\0", "\n")


def run(checkout: TextIO, payments: TextIO, stopped: threading.Event) -> None:
    """Log one order after the other."""
    files = {"C": checkout, "P": payments}
    for number in itertools.cycle(range(FIRST, LAST)):
        for program, message in messages(number):
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            files[program].write(f"{now} {message}\n")
            files[program].flush()
            if stopped.wait(EVERY):
                return


def main() -> None:
    parser = argparse.ArgumentParser(description="Log the orders of a shop.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("payments", type=Path)
    options = parser.parse_args()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    with options.checkout.open("a") as checkout, options.payments.open("a") as payments:
        run(checkout, payments, stopped)


if __name__ == "__main__":
    main()
