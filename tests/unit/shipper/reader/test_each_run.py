from log_shipper.shipper.event import Messages
from log_shipper.shipper.reader.base import MappedReader
from tests.builders import messages
from tests.given_runs import GivenRuns


def shortened(run: Messages) -> Messages:
    run.texts = [text[:1] for text in run.texts]
    return run


def test_runs_are_passed_on_as_they_are_changed() -> None:
    reader = MappedReader(GivenRuns(["ab"], ending=messages(["cd"])), shortened)
    run, ended = reader.next(), reader.finish()
    assert run is not None
    assert ended is not None
    assert (run.texts, ended.texts) == (["a"], ["c"])
    assert (reader.next(), reader.finish()) == (None, None)


def test_a_run_without_messages_is_passed_on_as_it_is() -> None:
    empty = Messages(0, 5)
    assert MappedReader(GivenRuns(empty), lambda _: messages(["never"])).next() is empty


def test_the_time_of_a_pending_message_is_passed_through() -> None:
    waiting = GivenRuns()
    waiting.pending_since = 7.0
    assert MappedReader(waiting, shortened).pending_since == 7.0
