"""What Python has done with goes, in Java too."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.platform.jvm import Garbage


class Cycle:
    """Like an object of Py4J's that was called."""

    def __init__(self) -> None:
        self.method = self


@pytest.fixture(autouse=True)
def by_hand() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_what_is_done_with_goes() -> None:
    reference = weakref.ref(Cycle())
    assert reference() is not None
    Garbage().collect()
    assert reference() is None


def test_after_a_dear_one_there_is_none_for_fifty_times_as_long() -> None:
    seconds = iter([100.0, 100.0, 100.5, 124.0, 126.0, 126.0])
    garbage = Garbage(lambda: next(seconds))
    garbage.collect()
    reference = weakref.ref(Cycle())
    garbage.collect()
    assert reference() is not None
    garbage.collect()
    assert reference() is None


def test_what_is_kept_is_not_looked_through_again() -> None:
    Garbage().keep()
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < 1000


@pytest.mark.spark
def test_java_forgets_what_python_has_done_with(spark: SparkSession) -> None:
    """Else this test would be in vain: that a called object is a cycle is how Py4J is made, and may change."""
    plans = [spark.range(1)._jdf for _ in range(3)]
    assert plans[0].logicalPlan().output().size() == 1
    seen = [weakref.ref(plan) for plan in plans]
    del plans
    assert [reference() is None for reference in seen] == [False, True, True]
    Garbage().collect()
    assert seen[0]() is None
