"""Build the receiver of a listening input from its options."""

from functools import partial

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.inputs.server_tls import ServerTls
from log_shipper.shipper.inputs.sockets.accepting import ConnectionContext, ConnectionLimits
from log_shipper.shipper.inputs.sockets.connection import MakeFraming
from log_shipper.shipper.inputs.sockets.counts import PeerReporter
from log_shipper.shipper.inputs.sockets.framing import DelimiterFraming, OctetFraming
from log_shipper.shipper.inputs.sockets.intake import Piece
from log_shipper.shipper.inputs.sockets.listening import listen
from log_shipper.shipper.inputs.sockets.options import SocketConfig, TcpOptions, UdpOptions, UnixOptions
from log_shipper.shipper.inputs.sockets.receiver import Receiver


def make_receiver(config: SocketConfig, mailbox: Mailbox[Piece], context: SourceContext) -> Receiver:
    """Return the receiver of an input. Raises StartError."""
    options, clock = config.listens, context.clock
    if context.once:
        raise StartError(
            f"input {config.id}: an input of type {config.type} never ends: run without --once, or disable the input"
        )
    tls = None
    if isinstance(options, TcpOptions) and options.ssl.is_on:
        tls = ServerTls(options.ssl, f"input {config.id}: ssl", clock)
    if isinstance(options, UdpOptions):
        limits = ConnectionLimits(options.max_message_size, timeout=float("inf"))
    else:
        limits = ConnectionLimits(options.max_message_size, options.timeout, options.max_connections)
    report = PeerReporter(config.id, clock.monotonic)
    listeners = listen(options, config.id)
    return Receiver(listeners, limits, mailbox, report, clock, ConnectionContext(_framing(options), tls))


def _framing(options: UdpOptions | TcpOptions | UnixOptions) -> MakeFraming:
    if isinstance(options, UdpOptions):
        return partial(DelimiterFraming, "\n", options.max_message_size)
    kind = OctetFraming if options.framing == "rfc6587" else DelimiterFraming
    return partial(kind, options.line_delimiter, options.max_message_size)
