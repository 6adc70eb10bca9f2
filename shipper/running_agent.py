"""How commands reach the agent that runs: by its unix socket in path.data."""

import errno
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.client import Address, NotHttp, Place, Refused, UnixSocket
from shipper.agent_socket import ADVICE_FOR_LENGTH, socket_path
from shipper.errors import StartError


def socket_of(data: Path) -> UnixSocket:
    """Return the socket of the agent with this path.data."""
    return UnixSocket(socket_path(data.absolute()))


@contextmanager
def errors_in_words(place: Place) -> Iterator[None]:
    """Raise StartError for what `monitor.client` raises: what does not answer, and what to do."""
    try:
        yield
    except Refused as refused:
        raise StartError(_refused(place, refused)) from refused
    except OSError as error:
        raise StartError(_address(place, error) if isinstance(place, Address) else _socket(place, error)) from error


def _refused(place: Place, refused: Refused) -> str:
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
    if isinstance(error, NotHttp):
        return f"{place}: {error}; is it the HTTP endpoint of a shipper or sink?"
    reason = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or error
    return f"{place} cannot be reached: {reason}; is `http.enabled` true there, and `http.host` not only localhost?"
