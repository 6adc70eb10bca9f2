"""The headers of a record, whatever a producer has written into it."""

from typing import Any, Protocol


class Record(Protocol):
    """The part of confluent_kafka.Message that is used."""

    def headers(self) -> Any: ...

    def set_headers(self, value: Any) -> None: ...


def take_out_unreadable_headers(record: Record) -> bool:
    """True if the record has none any more because a name is not UTF-8. Must be called before anything else asks for
    the headers: to the client, names are text. It fails at one that is none, and at the next call it returns a null
    pointer for it, which crashes the process that touches it."""
    try:
        record.headers()
    except (SystemError, UnicodeDecodeError):
        record.set_headers([])
        return True
    return False
