"""How commands reach the agent that runs: by its unix socket in path.data, or an address. Why they cannot, in words."""

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


PORTS = "`http.port` is 5066 of a shipper and 5067 of a sink unless it is set"
PASSWORD = "a proxy asks for a password, which this command cannot give: ask the program itself"
# By the status of an answer that is none.
ADVICE = {
    301: "give that URL",
    302: "give that URL",
    307: "give that URL",
    308: "give that URL",
    401: PASSWORD,
    404: f"it is another program, of an older release, or the URL has a path too many; {PORTS}",
    407: PASSWORD,
    502: "a proxy does not reach the program: ask the program itself",
    504: "a proxy does not reach the program: ask the program itself",
}


@contextmanager
def errors_in_words(place: Place) -> Iterator[None]:
    """Raise StartError for what `monitor.client` raises: what does not answer, and what to do."""
    try:
        yield
    except Refused as refused:
        raise StartError(_refused(place, refused)) from refused
    except OSError as error:
        raise StartError(_address(place, error) if isinstance(place, Address) else _socket(place, error)) from error


def not_ours(place: Place, problem: str) -> str:
    """Return what to do about an answer that is none of a shipper or sink."""
    words = f"{place} answers as no shipper or sink does ({problem})"
    return f"{words}: another program has this port; {PORTS}" if isinstance(place, Address) else words


def _refused(place: Place, refused: Refused) -> str:
    if isinstance(place, Address):
        words = f"{place} answers {refused.status}{': ' if str(refused) else ''}{refused}"
        return f"{words}; {ADVICE[refused.status]}" if refused.status in ADVICE else words
    if refused.status == 404:
        return (
            f"{place} does not serve this: the shipper is starting and waits for its output, is of an older release, or"
            f" it is another program ({refused})"
        )
    return f"{place}: {refused}"


def _socket(place: UnixSocket, error: OSError) -> str:
    path = place.path
    if isinstance(error, FileNotFoundError):
        return (
            f"there is no {path}: the shipper with this path.data is not running, runs with --once, or has "
            "`http.socket: false`; start it (`shipper run`), or name the data directory of another one (-c FILE or "
            "--path.data DIR)"
        )
    if isinstance(error, ConnectionRefusedError):
        return f"{path} was left by a shipper that has ended: start it again (`shipper run`)"
    if isinstance(error, ConnectionError | NotHttp):
        return f"{path}: the connection broke off, the shipper has ended or is about to: start it again (`shipper run`)"
    if isinstance(error, PermissionError):
        return f"{path} may not be opened: only the shipper's own user may; run this command as {_owner(path)}"
    if error.errno == errno.ENAMETOOLONG:
        return f"{path}: {error.strerror}; {ADVICE_FOR_LENGTH}"
    if isinstance(error, TimeoutError):
        return f"{path} does not answer: the shipper is stopped (SIGSTOP), or its machine is overloaded"
    return f"{path}: {error.strerror or error}"


def _owner(path: Path) -> str:
    """Return the user to whom the socket belongs, or the nearest directory above it that can be looked at."""
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
            return f"{place}: {error}: another program has this port; {PORTS}"
        case NotHttp():
            return f"{place}: {error}: another program has this port, or it speaks TLS (then write https://); {PORTS}"
        case ssl.SSLCertVerificationError():
            return (
                f"{place}: its certificate is not trusted: {error.verify_message}; it is that of a proxy: ask the "
                "program itself by http://, or name a file with the authority (SSL_CERT_FILE=ca.pem)"
            )
        case ssl.SSLError():
            problem = (error.reason or reason).lower().replace("_", " ")
            return f"{place}: TLS failed ({problem}): write http://, as shippers and sinks have no TLS of their own"
        case socket.gaierror():
            return f"{place}: {reason}: correct the host's name, or give its address"
        case ConnectionRefusedError():
            return (
                f"{place} cannot be reached: {reason}: no program listens there. Start it with `http.enabled: true`, "
                f"and to be asked by other hosts with `http.host: 0.0.0.0`; {PORTS}"
            )
        case ConnectionError():
            return f"{place}: {reason}: the program is about to end, or another one has this port; {PORTS}"
        case TimeoutError():
            return (
                f"{place} does not answer in time: its host is down, a firewall drops what is sent to this port, or "
                "the program hangs"
            )
    return f"{place} cannot be reached: {reason}: check the address, and the network between"
