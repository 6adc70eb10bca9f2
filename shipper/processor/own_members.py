"""The common part of drop_fields and include_fields: change the constants of a file once, then each event's own
members."""

from collections.abc import Callable, Sequence

from log_shipper.shipper.processor.events import Event, Events, all_of

STAYING = frozenset({"@timestamp", "type"})
# Members that are stored in columns, with the names of the fields that may be dropped.
COLUMNS = {"message": ("message",), "log": ("log", "log.flags")}


def shared_first(
    owner: object,
    events: Events,
    indices: Sequence[int],
    change: Callable[[Event, Sequence[str]], None],
    columns: Sequence[str],
    kind: str,
) -> None:
    """Call `change` with names of members: once for the constants, if it applies to all events, then for each event's
    own members. Events without documents have only columns, of which `columns` are to be changed."""
    together = all_of(events, indices)
    if together:
        events.share(owner, lambda shared: change(Event(shared), shared.names(0)))
    event, messages = Event(events), events.messages
    bare = together and messages.docs is None
    names: Sequence[str] = [name for name in columns if name != "log" or messages.flags]
    for event.index in indices if names or not bare else ():
        if not bare:
            names = events.own_names(event.index) if together else event.names()
        try:
            change(event, names)
        except RecursionError:  # a hostile line may nest a thousand objects
            event.fail(kind, "a value is nested too deeply")
