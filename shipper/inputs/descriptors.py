"""File descriptors, of which peers must not take the last: the files, the registry and the output need some, too."""

import errno
import os
import resource
import socket

RESERVED = 200  # or a quarter, where there are few
NO_MORE = "no connection can be accepted: {}; raise LimitNOFILE, or lower max_connections"


def check_free(listener: socket.socket) -> None:
    """Raise OSError if so few descriptors are free that they are not for connections. A new one has the lowest number
    that is free."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    probe = os.dup(listener.fileno())
    os.close(probe)
    if limit != resource.RLIM_INFINITY and probe >= limit - min(RESERVED, limit // 4):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
