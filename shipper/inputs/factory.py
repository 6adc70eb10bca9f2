"""Make the feed of a configured input."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.base import BatchSource, SourceContext
from log_shipper.shipper.inputs.feed import FeedInput, LoopWake


def maker(context: SourceContext, wake: LoopWake) -> Callable[[FeedInput], BatchSource]:
    """Return a function that makes the feed of an input, and raises StartError."""
    entries = FeedEntries(context.registrar)

    def make_feed(feed_input: FeedInput) -> BatchSource:
        return make(replace(feed_input, note=entries.save), context, entries.entries_of(feed_input.id), wake)

    return make_feed


def make(feed_input: FeedInput, context: SourceContext, states: Sequence[FileState], wake: LoopWake) -> BatchSource:
    """Return the feed. `states` are the registry's entries of this input. Raises StartError."""
    match feed_input.config.type:  # each type imports its modules here: hardly any configuration has all of them
        case "http" | "http_endpoint":
            from log_shipper.shipper.inputs.http.source import HttpSource

            return HttpSource(feed_input, context, wake.set_if_open)
        case "syslog" | "tcp" | "udp" | "unix":
            from log_shipper.shipper.inputs.sockets.source import SocketSource

            return SocketSource(feed_input, context, wake.set_if_open)
        case "journald":
            from log_shipper.shipper.inputs.journald.feed import JournaldFeed
            from log_shipper.shipper.inputs.journald.host import ThisHost

            return JournaldFeed(feed_input, context, states, ThisHost(wake))
        case "dead_letter":
            from log_shipper.shipper.inputs.dead_letter.source import DeadLetterSource

            return DeadLetterSource(feed_input, context, states)
        case "kafka":
            from log_shipper.shipper.inputs.kafka.feed import make as make_kafka

            return make_kafka(feed_input, context, wake.set_if_open)
        case _:
            raise AssertionError(f"no feed reads {feed_input.config.type}")


class FeedEntries:
    """The registry's entries of feeds. Used by the reading thread only."""

    def __init__(self, registrar: Registrar) -> None:
        self._registrar = registrar
        self._states = {state.id: state for state in registrar.states.values() if state.kind}

    def entries_of(self, input_id: str) -> list[FileState]:
        return [state for state in self._states.values() if state.input == input_id]

    def save(self, state: FileState) -> None:
        """Save the entry, for the next feed of the input too."""
        self._states[state.id] = state
        self._registrar.note(state)
