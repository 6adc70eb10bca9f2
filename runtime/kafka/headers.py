"""Reads the headers of a record, whatever a producer wrote into them."""

from typing import Any, Protocol


class Record(Protocol):
    """The part of confluent_kafka.Message that is used."""

    def headers(self) -> Any: ...

    def set_headers(self, value: Any) -> None: ...


def take_out_unreadable_headers(record: Record) -> bool:
    """Return True if the headers are unreadable because a name is not UTF-8. Call it before anything else reads the
    headers: the client decodes names, fails at such a one, and on the next call returns a null pointer that crashes the
    process.
    """
    try:
        record.headers()
    except (SystemError, UnicodeDecodeError):
        record.set_headers([])
        return True
    return False
