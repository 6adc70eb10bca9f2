"""The tree of errors, with the module that raises each of them; a function that may raise one documents it.

    ShipperError
    ├── Truncated               the bytes before the position are not those that were read: the file was truncated
    │   │                       or rewritten (reader/log_file, source)
    │   └── Disproved           at its first reading: the file is not the one that its entry remembers (source), or is
    │                           compressed, and was empty before
    ├── CompressionError        a .gz is damaged or cut off (reader/gzip_file)
    ├── ContainerLineError      a line is not in a container runtime's format (reader/container_line)
    ├── SyslogError             a text is not a syslog message (syslog_format)
    ├── NotJsonError            a text is not a JSON document (json_fields)
    ├── ConflictError           dotted keys that cannot become objects (json_fields)
    ├── ProcessorError          a processor cannot work on an event (processor/fields)
    │   └── FieldError          a field cannot be written where it was wanted
    ├── NoMetadata              a cloud's metadata service does not answer as it documents (cloud/service)
    ├── DockerError             Docker does not answer, or refuses (docker/client)
    ├── PositionRefused         a foreign position cannot be taken over (positions/heads)
    ├── NoAccess                nothing says where an API server of Kubernetes is (kubernetes/account)
    ├── ApiError                a request to an API server fails (kubernetes/api_error)
    ├── TooManyTaps             as many taps are open as may be (tap)
    └── StartError              the agent cannot start, or a command cannot do its work: what, where, and what to do
        └── Fenced              another shipper has the same transactional id (output/transactions)

Errors of one file or event end where they are handled, and never stop the agent. Errors from outside are translated at
the door: Kafka's in output/kafka_errors.py, the disk's (`runtime.disk_errors`, `runtime.locking.FileInUse`) where the
file is opened. Those of the registry have a tree of their own (registry/errors.py).
"""


class ShipperError(Exception):
    pass


class Truncated(ShipperError):
    """Raised when a file is shorter than what was read of it, or was rewritten in place. `size`: its current bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"truncated to {size} bytes or rewritten")
        self.size = size


class Disproved(Truncated):
    """Raised when a file does not have the bytes shipped under its registry entry, or proves to be compressed once it
    has any."""


class TooManyTaps(ShipperError):
    """Raised when all taps are in use, or the agent is about to end."""


class StartError(ShipperError):
    """Raised when the agent cannot start; the message is for the person who starts it."""


class Fenced(StartError):
    """Raised when another shipper uses the same transactional id, so that this one must end."""
