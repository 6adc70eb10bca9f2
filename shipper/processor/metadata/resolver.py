"""Queries name servers, on threads that wait for the answers."""

import ipaddress
import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.resolver
import dns.reversename

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.dns import Nameserver, nameserver
from log_shipper.shipper.processor.metadata.lookups import FAILURE, LookupResult


class Resolver:
    """Queries name servers, or those of the system if none are given, in order until one responds. Callable from any
    thread."""

    def __init__(self, kind: str, names: Sequence[str], timeout: float, *, tls: bool = False) -> None:
        """Find the name servers. Raises StartError if there are none."""
        self._servers = [nameserver(name) for name in names] or system_servers()
        self.described = ", ".join(names) or "/etc/resolv.conf"
        self.patience = timeout * len(self._servers)
        self._kind = dns.rdatatype.from_text(kind)
        self._timeout = timeout
        self._tls = tls

    def resolve(self, name: str) -> LookupResult:
        """Return the answer. Blocks for at most the timeout per server."""
        try:
            query = self._query(name)
        except (dns.exception.DNSException, ValueError):
            return FAILURE  # not an address or name: no server can answer
        no_response_reason = ""
        for server in self._servers:
            try:
                response = self._exchange(query, server)
            except (dns.exception.DNSException, EOFError, OSError, ValueError) as error:
                # EOFError: the server closed the connection. ValueError: an invalid server name.
                no_response_reason = f"{server.host}: {str(error) or type(error).__name__}"
                continue
            return self._answer(response)
        return LookupResult(no_response_reason=no_response_reason)

    def _query(self, name: str) -> dns.message.QueryMessage:
        if self._kind == dns.rdatatype.PTR:
            where = dns.reversename.from_address(str(ipaddress.ip_address(name)))
        else:
            where = dns.name.from_text(name)
        return dns.message.make_query(where, self._kind)

    def _exchange(self, query: dns.message.QueryMessage, server: Nameserver) -> dns.message.Message:
        address = server.host if server.is_address else socket.gethostbyname(server.host)
        if self._tls:
            return dns.query.tls(query, address, self._timeout, server.port or 853, server_hostname=server.host)
        # An answer too long for a datagram is fetched over TCP.
        return dns.query.udp_with_fallback(query, address, self._timeout, server.port or 53)[0]

    def _answer(self, response: dns.message.Message) -> LookupResult:
        if response.rcode() != dns.rcode.NOERROR:
            return FAILURE
        answers = [answer for answer in response.answer if answer.rdtype == self._kind]
        values = [value for answer in answers for data in answer for value in _values(data, self._kind)]
        return LookupResult(tuple(values), min(answer.ttl for answer in answers)) if values else FAILURE


def _values(data: object, kind: dns.rdatatype.RdataType) -> list[str]:
    if kind == dns.rdatatype.PTR:
        return [data.target.to_text(omit_final_dot=True)]  # type: ignore[attr-defined]  # rdata classes are made at run time
    if kind == dns.rdatatype.TXT:
        return [part.decode("utf-8", "replace") for part in data.strings]  # type: ignore[attr-defined]  # as above
    return [data.address]  # type: ignore[attr-defined]  # as above


def system_servers() -> list[Nameserver]:
    """Return the name servers of /etc/resolv.conf. Raises StartError if there are none."""
    try:
        names = [str(name) for name in dns.resolver.Resolver().nameservers]
    except dns.resolver.NoResolverConfiguration:
        names = []
    if not names:
        raise StartError("processor dns: /etc/resolv.conf lists no name server; set nameservers")
    return [nameserver(name) for name in names]


Work = Callable[[], None]


class Workers:
    """A few threads that end with their owner. As daemons, their queries do not delay the end of the agent."""

    def __init__(self, max_threads: int) -> None:
        self._max_threads = max_threads
        self._tasks: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        weakref.finalize(self, _end, self._tasks, max_threads)

    def start(self, work: Work) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if len(self._threads) < self._max_threads:
            thread = threading.Thread(target=_work, args=(self._tasks,), name="dns", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._tasks.put(work)


def _work(tasks: "SimpleQueue[Work | None]") -> None:
    while (work := tasks.get()) is not None:
        work()


def _end(tasks: "SimpleQueue[Work | None]", threads: int) -> None:
    for _ in range(threads):
        tasks.put(None)
