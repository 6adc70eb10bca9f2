import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.job import stop
from log_shipper.spark_sink.landing.batch_handler import BatchHandler, Stopped


@dataclass
class NewCheckpoint:
    path: str = "/checkpoint"

    def query_id(self) -> None:
        return None

    def last_planned(self) -> int:
        return -1

    def last_committed(self) -> int:
        return -1

    def ends(self, batch: int) -> dict[tuple[str, int], int]:
        return {}


@dataclass
class Query:
    """A query whose trigger stays active for some looks at it, and which records what happened."""

    looks: int
    idle: threading.Event
    happened: list[str] = field(default_factory=list)
    isActive: bool = True

    @property
    def status(self) -> dict[str, Any]:
        assert self.idle.is_set(), "looked at before the batch had ended"
        self.looks -= 1
        return {"isTriggerActive": self.looks > 0}

    def stop(self) -> None:
        self.happened.append(f"stopped with {self.looks} looks to go")


def batches(stopping: threading.Event) -> BatchHandler:
    writer: Any = None
    checkpoint: Any = NewCheckpoint()
    broker: Any = None
    return BatchHandler(checkpoint, writer, stopping, lambda landed: None, broker)


def test_no_batch_is_begun_after_the_stop_and_none_is_taken_for_done() -> None:
    stopping = threading.Event()
    stopping.set()
    handler = batches(stopping)
    records: Any = None
    with pytest.raises(Stopped):
        handler(records, 0)
    assert handler.idle.is_set()


def test_a_batch_that_fails_leaves_the_job_idle_so_that_it_can_stop() -> None:
    handler = batches(threading.Event())
    records: Any = None
    with pytest.raises(SinkError, match="cannot resume from the checkpoint /checkpoint"):
        handler(records, 0)
    assert handler.idle.is_set()


def test_the_query_is_stopped_after_its_batch_is_committed() -> None:
    idle = threading.Event()
    query: Any = Query(looks=3, idle=idle)
    ending = threading.Thread(target=stop, args=(query, idle))
    ending.start()
    idle.set()
    ending.join(60)
    assert query.happened == ["stopped with 0 looks to go"]
