"""Define the options of the inputs that listen: `udp`, `tcp`, `unix` and `syslog`, as Filebeat's."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from log_shipper.config.text.checks import Finding, file_mode, not_blank, not_empty
from log_shipper.config.text.timezones import LOCAL, Timezone
from log_shipper.config.text.units import Duration, Size
from log_shipper.shipper.formats.syslog import SyslogFormat
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.server_ssl import ServerSslConfig
from log_shipper.shipper.parsers.syslog import SyslogParserConfig
from log_shipper.shipper.reader.base import ParserConfig

Framing = Literal["delimiter", "rfc6587"]
KIB, MIB = 1024, 1024**2
# The maximum size of a datagram on any transport.
MAX_DATAGRAM = 65_535
MAX_BUFFER = 1023 * MIB  # the kernel doubles it, and has 31 bits for it

STREAM_LIMIT: dict[str, Any] = {"doc": "Maximum message size; longer messages are truncated and flagged.", "min": 1}
DATAGRAM_LIMIT: dict[str, Any] = {"doc": "Maximum datagram size; longer datagrams are truncated and flagged.", "min": 1}
TIMEOUT: dict[str, Any] = {"doc": "Connections that send nothing for this long are closed.", "min": 0.001}
UNUSED_TIMEOUT: dict[str, Any] = {"doc": "No effect: datagrams have no connection to close."}
FRAMING: dict[str, Any] = {
    "doc": "How messages are separated: `line_delimiter`, or as in RFC 6587: a message that begins with a digit has "
    "its length in front, any other ends with `line_delimiter`."
}
DELIMITER: dict[str, Any] = {
    "doc": "The characters that end a message. A carriage return before a line feed is removed too."
}
CONNECTIONS: dict[str, Any] = {
    "doc": "Maximum number of open connections; further ones are closed at once. 0 means no limit.",
    "unit": "connections",
    "min": 0,
}
READ_BUFFER: dict[str, Any] = {
    "doc": "The size of the socket's buffer in the kernel; default: the system's. Datagrams that do not fit are "
    "dropped.",
    "min": 1,
    "max": MAX_BUFFER,
}
PENDING: dict[str, Any] = {
    "doc": "Maximum received bytes that wait for processing. When it is reached, connections are not read, so that "
    "senders wait, and datagrams stay in `read_buffer`.",
    "min": 64 * KIB,
}
WORKERS: dict[str, Any] = {
    "doc": "Accepted and ignored: one thread receives from all sockets.",
    "min": 1,
    "unused": "one thread receives",
}


def addresses(hosts: tuple[str, ...]) -> Iterator[Finding]:
    yield from not_empty(hosts)
    for index, address in enumerate(hosts):
        host, colon, port = address.rpartition(":")
        numeric = port.isascii() and port.isdecimal() and int(port) < 65536
        bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
        if not colon or not numeric or bare_ipv6:
            yield f"[{index}]", f"{address!r} must be host:port, such as 0.0.0.0:514, :514 or [::1]:514"


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


HOST: dict[str, Any] = {
    "doc": "Addresses to listen on: host:port, or several of them.",
    "split": ",",
    "check": addresses,
}


@dataclass(frozen=True, kw_only=True)  # without slots: an input has two bases
class UdpOptions:
    since: ClassVar = "0.3"
    host: tuple[str, ...] = field(metadata=HOST)
    max_message_size: Size = field(default=10 * KIB, metadata=DATAGRAM_LIMIT | {"max": MAX_DATAGRAM})
    network: Literal["udp", "udp4", "udp6"] = field(
        default="udp", metadata={"doc": "IP version: both, 4 only or 6 only."}
    )
    read_buffer: Size | None = field(default=None, metadata=READ_BUFFER)
    timeout: Duration = field(default=300.0, metadata=UNUSED_TIMEOUT)

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(f"udp {address}" for address in self.host)


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    since: ClassVar = "0.3"
    max_message_size: Size = field(default=20 * MIB, metadata=STREAM_LIMIT)
    max_connections: int = field(default=0, metadata=CONNECTIONS)
    timeout: Duration = field(default=300.0, metadata=TIMEOUT)
    framing: Framing = field(default="delimiter", metadata=FRAMING)
    line_delimiter: str = field(default="\n", metadata=DELIMITER)

    def check_delimiter(self) -> Iterator[Finding]:
        if not self.line_delimiter:
            yield "line_delimiter", "is empty; messages of a stream need a delimiter"
        elif len(self.line_delimiter.encode(errors="replace")) > 1 and "\\" in self.line_delimiter:
            yield "line_delimiter", f'{self.line_delimiter!r} has a backslash; write escapes in double quotes, as "\\n"'


@dataclass(frozen=True, kw_only=True)
class TcpOptions(StreamOptions):
    host: tuple[str, ...] = field(metadata=HOST)
    network: Literal["tcp", "tcp4", "tcp6"] = field(
        default="tcp", metadata={"doc": "IP version: both, 4 only or 6 only."}
    )
    ssl: ServerSslConfig = field(default_factory=ServerSslConfig)

    def check(self) -> Iterator[Finding]:
        yield from self.check_delimiter()

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(f"tcp {address}" for address in self.host)


@dataclass(frozen=True, kw_only=True)
class UnixOptions(StreamOptions):
    path: str = field(metadata={"doc": "The path of the socket.", "check": not_blank})
    socket_type: Literal["stream", "datagram"] = field(default="stream", metadata={"doc": "The type of the socket."})
    group: str | None = field(
        default=None, metadata={"doc": "The group that owns the socket, by name; default: the agent's."}
    )
    mode: str | None = field(
        default=None,
        metadata={"doc": "The file mode of the socket, in octal; default: according to the agent's umask."},
    )

    def check(self) -> Iterator[Finding]:
        if self.socket_type == "stream":
            yield from self.check_delimiter()
        if self.mode is not None:
            yield from (("mode", message) for _, message in file_mode(self.mode))

    @property
    def places(self) -> tuple[str, ...]:
        return (f"unix {self.path}",)


ListenOptions = UdpOptions | TcpOptions | UnixOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketConfig(FeedConfig):
    """The common options of the inputs that listen."""

    not_yet: ClassVar = filebeat.SOCKET_NOT_YET
    since: ClassVar = "0.3"
    message_max_bytes: Size = field(default=20 * MIB, metadata={"key": None})  # set by max_message_size
    number_of_workers: int = field(default=1, metadata=WORKERS)
    pending_bytes: Size = field(default=32 * MIB, metadata=PENDING)

    @property
    @abstractmethod
    def listens(self) -> ListenOptions:
        """Return the sockets to listen on."""

    @property
    def reads(self) -> tuple[str, ...]:
        return self.listens.places

    def converted(self) -> Self:
        limit = self.listens.max_message_size
        return replace(self, id=self.id or self.derived_id, message_max_bytes=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpInput(UdpOptions, SocketConfig):
    type: str = field(default="udp", metadata={"doc": "The input type."})
    host: tuple[str, ...] = field(default=("localhost:8080",), metadata=HOST)

    @property
    def listens(self) -> ListenOptions:
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpInput(TcpOptions, SocketConfig):
    type: str = field(default="tcp", metadata={"doc": "The input type."})

    @property
    def listens(self) -> ListenOptions:
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixInput(UnixOptions, SocketConfig):
    type: str = field(default="unix", metadata={"doc": "The input type."})

    @property
    def listens(self) -> ListenOptions:
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogProtocol:
    """One of the three protocols."""

    udp: UdpOptions | None = field(default=None, metadata={"doc": "Listen for datagrams."})
    tcp: TcpOptions | None = field(default=None, metadata={"doc": "Listen for connections."})
    unix: UnixOptions | None = field(default=None, metadata={"doc": "Listen on a Unix socket."})

    @property
    def given(self) -> list[ListenOptions]:
        return [options for options in (self.udp, self.tcp, self.unix) if options is not None]

    def check(self) -> Iterator[Finding]:
        if len(self.given) != 1:
            yield "", "must have one of udp, tcp and unix, as in 'protocol.udp: {host: \"0.0.0.0:514\"}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogInput(SocketConfig):
    type: str = field(default="syslog", metadata={"doc": "The input type."})
    protocol: SyslogProtocol = field(default_factory=SyslogProtocol)
    format: SyslogFormat = field(
        default="rfc3164", metadata={"doc": "The syslog format; auto detects it for each message."}
    )
    timezone: Timezone = field(
        default=LOCAL,
        metadata={"doc": "Time zone of timestamps without one: a name, an offset such as +02:00, or Local."},
    )

    @property
    def listens(self) -> ListenOptions:
        return self.protocol.given[0]

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        return (SyslogParserConfig(format=self.format, timezone=self.timezone),)
