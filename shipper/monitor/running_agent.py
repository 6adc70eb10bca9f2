"""The connection of commands to a running agent, by its unix socket in path.data or an address, with messages for
failures.
"""

import errno
import os
import pwd
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from log_shipper.runtime.http import Address, Place, UnixSocket
from log_shipper.runtime.monitor.client import NotHttp, Refused
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.agent_socket import ADVICE_FOR_LENGTH, socket_path


def socket_of(data: Path) -> UnixSocket:
    """Return the socket of the agent with this path.data."""
    return UnixSocket(socket_path(data.absolute()))


PORTS = "the default of `http.port` is 5066 for a shipper and 5067 for a sink"
PASSWORD = "a proxy requires a password, which this command does not support: connect directly"
# By the status of an error response.
ADVICE = {
    301: "use that URL",
    302: "use that URL",
    307: "use that URL",
    308: "use that URL",
    401: PASSWORD,
    404: f"it is another program, an older release, or the URL contains a path; {PORTS}",
    407: PASSWORD,
    502: "a proxy cannot reach the program: connect directly",
    504: "a proxy cannot reach the program: connect directly",
}


@contextmanager
def errors_in_words(place: Place) -> Iterator[None]:
    """Turn errors of `monitor.client` into StartError, with the place and what to do."""
    try:
        yield
    except Refused as refused:
        raise StartError(_refused(place, refused)) from refused
    except OSError as error:
        raise StartError(_address(place, error) if isinstance(place, Address) else _socket(place, error)) from error


def not_ours(place: Place, problem: str) -> str:
    """Return what to do about a response that is not from a shipper or sink."""
    words = f"{place} is not a shipper or sink ({problem})"
    return f"{words}: another program uses this port; {PORTS}" if isinstance(place, Address) else words


def _refused(place: Place, refused: Refused) -> str:
    if isinstance(place, Address):
        words = f"{place} responds {refused.status}{': ' if str(refused) else ''}{refused}"
        return f"{words}; {ADVICE[refused.status]}" if refused.status in ADVICE else words
    if refused.status == 404:
        return (
            f"{place} does not provide this: the shipper is starting and waits for its output, is an older "
            f"release, or it is another program ({refused})"
        )
    return f"{place}: {refused}"


def _socket(place: UnixSocket, error: OSError) -> str:
    path = place.path
    if isinstance(error, FileNotFoundError):
        return (
            f"no {path}: the shipper with this path.data is not running, runs with --once, or has `http.socket: "
            "false`; start it (`shipper run`), or name another data directory (-c FILE or --path.data DIR)"
        )
    if isinstance(error, ConnectionRefusedError):
        return f"{path} belongs to a shipper that has ended: start it again (`shipper run`)"
    if isinstance(error, ConnectionError | NotHttp):
        return f"{path}: connection closed, the shipper ended or is ending: start it again (`shipper run`)"
    if isinstance(error, PermissionError):
        return f"{path}: permission denied: only the shipper's user may open it; run this command as {_owner(path)}"
    if error.errno == errno.ENAMETOOLONG:
        return f"{path}: {error.strerror}; {ADVICE_FOR_LENGTH}"
    if isinstance(error, TimeoutError):
        return f"{path} does not respond: the shipper is stopped (SIGSTOP), or its machine is overloaded"
    return f"{path}: {error.strerror or error}"


def _owner(path: Path) -> str:
    """Return the owner of the socket, or of the nearest accessible directory above it."""
    for candidate in (path, *path.parents):
        try:
            return pwd.getpwuid(os.stat(candidate).st_uid).pw_name
        except (OSError, KeyError):
            continue
    return "that user"


def _address(place: Address, error: OSError) -> str:
    reason = error.strerror or str(error)
    match error:
        case NotHttp() if place.is_secure:
            return f"{place}: {error}: another program uses this port; {PORTS}"
        case NotHttp():
            return f"{place}: {error}: another program uses this port, or it requires TLS (use https://); {PORTS}"
        case ssl.SSLCertVerificationError():
            return (
                f"{place}: certificate not trusted: {error.verify_message}; it is a proxy's: connect directly "
                "with http://, or set its CA file (SSL_CERT_FILE=ca.pem)"
            )
        case ssl.SSLError():
            problem = (error.reason or reason).lower().replace("_", " ")
            return f"{place}: TLS failed ({problem}): use http://, as shippers and sinks do not provide TLS"
        case socket.gaierror():
            return f"{place}: {reason}: correct the host name, or use its address"
        case ConnectionRefusedError():
            return (
                f"{place} is unreachable: {reason}: no program listens there. Start it with `http.enabled: true`, "
                f"and for access from other hosts with `http.host: 0.0.0.0`; {PORTS}"
            )
        case ConnectionError():
            return f"{place}: {reason}: the program is ending, or another one uses this port; {PORTS}"
        case TimeoutError():
            return (
                f"{place} does not respond in time: its host is down, a firewall blocks this port, or the program hangs"
            )
    return f"{place} is unreachable: {reason}: check the address and the network"
