"""Name servers that a test drives: one without threads and network, and a real one on localhost."""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import dns.message
import dns.rcode
import dns.rrset

from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.metadata.lookups import FAILURE, LookupResult, Lookups
from log_shipper.shipper.processors.dns import Dns, DnsConfig


@dataclass
class FakeNames:
    """`known` has the answers. A look-up is pending until the test calls `answer`; `asked` are the names in order."""

    known: dict[str, LookupResult] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    woken: int = 0
    down: bool = False
    described: str = ""
    patience: float = 0.0
    _started: list[Callable[[], None]] = field(default_factory=list)

    def resolve(self, name: str) -> LookupResult:
        self.asked.append(name)
        return LookupResult(no_response_reason="it is down") if self.down else self.known.get(name, FAILURE)

    def wake(self) -> None:
        self.woken += 1

    def answer(self, which: int | None = None) -> None:
        """Answer all pending look-ups, or the one with this number."""
        chosen = range(len(self._started)) if which is None else [which]
        works = [self._started[index] for index in chosen]
        self._started[:] = [work for work in self._started if work not in works]
        for work in works:
            work()

    @property
    def pending(self) -> int:
        return len(self._started)

    def step(self, config: DnsConfig, context: ProcessorContext, servers: int = 1) -> Dns:
        self.described, self.patience = ", ".join(config.nameservers), config.timeout * servers
        caches = config.success_cache, config.failure_cache
        lookups = Lookups(self, self._started.append, *caches, context.clock, self.wake)
        return Dns(config, lookups, context)


class NameServer:
    """Answers over UDP on localhost; `silent`: not before `may_answer` is set. `records` are lines of a zone file, by
    name and type."""

    def __init__(self, records: dict[tuple[str, str], Sequence[str]], *, silent: bool = False) -> None:
        self.records = records
        self.may_answer = threading.Event()
        if not silent:
            self.may_answer.set()
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            wire, client = self._socket.recvfrom(4096)
            if not wire:
                return
            self.may_answer.wait()
            self._socket.sendto(self._reply(dns.message.from_wire(wire)).to_wire(), client)

    def _reply(self, query: dns.message.Message) -> dns.message.Message:
        question = query.question[0]
        name, kind = question.name.to_text(), question.rdtype.name
        self.asked.append(name)
        reply = dns.message.make_response(query)
        values = self.records.get((name, kind))
        if values is None:
            reply.set_rcode(dns.rcode.NXDOMAIN)
        elif values:
            reply.answer.append(dns.rrset.from_text(name, 300, "IN", kind, *values))
        return reply

    def close(self) -> None:
        self.may_answer.set()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()
