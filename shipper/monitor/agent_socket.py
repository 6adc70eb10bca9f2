"""The agent's socket in path.data, for `shipper top` and `shipper tap`."""

from pathlib import Path

from log_shipper.runtime.sockets import MAX_PATH_LENGTH
from log_shipper.shipper.options.http import SOCKET_FILE

MAX_DATA_LENGTH = MAX_PATH_LENGTH - len(f"/{SOCKET_FILE}")  # bytes
# Advice if path.data is longer and therefore has no socket.
ADVICE_FOR_LENGTH = (
    f"set a path.data of at most {MAX_DATA_LENGTH} bytes (such as a symlink to this one), or http.enabled: true for "
    "'shipper top --url http://localhost:5066'; 'shipper tap' works only with the socket"
)


def socket_path(data: Path) -> Path:
    return data / SOCKET_FILE
