"""The resolver asks real name servers: over UDP, on this machine."""

import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

import dns.message
import pytest

from log_shipper.shipper.options.dns import Nameserver
from log_shipper.shipper.processor.metadata.lookups import FAILURE, LookupResult
from log_shipper.shipper.processor.metadata.resolver import Resolver, Workers
from tests.name_servers import NameServer

ZONE: dict[tuple[str, str], Sequence[str]] = {
    ("4.3.2.1.in-addr.arpa.", "PTR"): ["web.example."],
    ("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", "PTR"): ["six.example."],
    ("web.example.", "A"): ["192.0.2.1", "192.0.2.2"],
    ("web.example.", "AAAA"): ["2001:db8::1"],
    ("web.example.", "TXT"): ['"v=spf1" "-all"'],
    ("alias.example.", "A"): [],
}


@pytest.fixture
def server() -> Iterator[NameServer]:
    server = NameServer(ZONE)
    yield server
    server.close()


SECONDS = 30.0  # for what takes milliseconds


def resolver(kind: str, *addresses: str, timeout: float = SECONDS) -> Resolver:
    return Resolver(kind, addresses, timeout)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("PTR", "1.2.3.4", LookupResult(("web.example",), 300)),
        ("PTR", "2001:db8::1", LookupResult(("six.example",), 300)),
        ("PTR", "1.2.3.5", FAILURE),  # NXDOMAIN
        ("PTR", "no address", FAILURE),
        ("A", "web.example", LookupResult(("192.0.2.1", "192.0.2.2"), 300)),
        ("A", "a..b", FAILURE),
        ("A", "alias.example", FAILURE),  # no record of this type
        ("AAAA", "web.example.", LookupResult(("2001:db8::1",), 300)),
        ("TXT", "web.example", LookupResult(("v=spf1", "-all"), 300)),
    ],
)
def test_a_name_server_answers(server: NameServer, kind: str, name: str, expected: LookupResult) -> None:
    found = resolver(kind, server.address).resolve(name)
    # A server may give them in any order.
    assert (sorted(found.values), found.ttl, found.no_response_reason) == (sorted(expected.values), expected.ttl, "")


def test_the_next_name_server_is_asked_when_one_does_not_answer(server: NameServer) -> None:
    silent = NameServer({}, silent=True)
    # By the same question, so by another resolver where it had no response in time, as on a busy machine.
    resolvers = (resolver("A", silent.address, server.address, timeout=0.1 * 2**number) for number in range(8))
    assert any(made.resolve("web.example").values for made in resolvers)
    silent.close()


def test_what_a_name_server_says_counts_and_the_next_one_is_not_asked(server: NameServer) -> None:
    other = NameServer({})
    assert resolver("A", other.address, server.address).resolve("web.example") == FAILURE
    assert server.asked == []
    other.close()


def test_a_silent_name_server_costs_the_timeout() -> None:
    silent = NameServer({}, silent=True)
    assert (
        resolver("A", silent.address, timeout=0.02).resolve("web.example").no_response_reason.startswith("127.0.0.1: ")
    )
    silent.close()


class Failing(Resolver):
    """The exchange with its name server fails with `error`."""

    error: type[Exception]

    def _exchange(self, query: dns.message.QueryMessage, server: Nameserver) -> NoReturn:
        raise self.error


@pytest.mark.parametrize("error", [TimeoutError, EOFError])
def test_an_error_without_text_is_named_by_its_type(error: type[Exception]) -> None:
    """EOFError: a server that is asked over TCP or TLS closes the connection before its answer."""
    resolver = Failing("A", ["127.0.0.1"], SECONDS)
    resolver.error = error
    assert resolver.resolve("web.example").no_response_reason == f"127.0.0.1: {error.__name__}"


def test_threads_end_with_their_owner() -> None:
    workers, done = Workers(2), threading.Event()
    workers.start(done.set)
    workers.start(done.set)
    threads = list(workers._threads)
    assert done.wait(SECONDS)
    assert len(threads) == 2
    del workers
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_work_continues_after_a_thread_has_died() -> None:
    workers, done = Workers(1), threading.Event()
    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:
        workers.start(lambda: 1 // 0)  # type: ignore[arg-type]  # it raises before it could return
        workers._threads[0].join(SECONDS)
    finally:
        threading.excepthook = hook
    workers.start(done.set)
    assert done.wait(SECONDS)
