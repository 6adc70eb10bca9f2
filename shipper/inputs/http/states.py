"""The states of a connection.

IDLE       between two requests, or before the first one
HEAD       some bytes of a head are there
BODY       the head was accepted, the body is awaited
READING    another thread makes events of the body
WAITING    the request was handed over; its answer depends on the pipeline, or on the time
LINGERING  the last response was written. If the client may still be sending, its bytes are ignored for a moment: a
           connection that is closed with unread bytes is reset, and the client could lose the response
CLOSED
"""

import enum


class State(enum.Enum):
    IDLE = enum.auto()
    HEAD = enum.auto()
    BODY = enum.auto()
    READING = enum.auto()
    WAITING = enum.auto()
    LINGERING = enum.auto()
    CLOSED = enum.auto()


BUSY = (State.READING, State.WAITING)  # what is sent ahead is not looked at
