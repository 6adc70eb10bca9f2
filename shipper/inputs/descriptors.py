"""Reserve file descriptors for files, registry and output, so that peers cannot use them all."""

import errno
import os
import resource
import socket

RESERVED = 200  # or a quarter, where there are few
NO_MORE = "cannot accept connections: {}; raise LimitNOFILE, or lower max_connections"


def check_free(listener: socket.socket) -> None:
    """Raise OSError if the free descriptors are too few to accept a connection. A new descriptor has the lowest free
    number."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    probe = os.dup(listener.fileno())
    os.close(probe)
    if limit != resource.RLIM_INFINITY and probe >= limit - min(RESERVED, limit // 4):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
