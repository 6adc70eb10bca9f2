"""The agent's socket in path.data, by which `shipper top` and `shipper tap` reach it."""

from pathlib import Path

from log_shipper.runtime.sockets import MAX_PATH_LENGTH
from log_shipper.shipper.options.http import SOCKET_FILE

MAX_DATA_LENGTH = MAX_PATH_LENGTH - len(f"/{SOCKET_FILE}")  # bytes
# What to do where path.data is longer, and so has no socket.
ADVICE_FOR_LENGTH = (
    f"set a path.data of at most {MAX_DATA_LENGTH} bytes (it may be a symlink to this one), or http.enabled: true for "
    "'shipper top --url http://localhost:5066' alone: 'shipper tap' needs the socket"
)


def socket_path(data: Path) -> Path:
    return data / SOCKET_FILE
