"""Spark's Java, for what PySpark has no words for: by Py4J, so each call is a round trip, and none of it is typed."""

import gc
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


def jvm(spark: SparkSession) -> Any:
    """Return the root of all packages. Of a session that runs."""
    assert spark._jvm is not None
    return spark._jvm


def java_class(spark: SparkSession, name: str) -> Any:
    """Return the Java class with this whole name; py4j asks Java once, and finds out at the first use that there is
    none.

    Written as `jvm(spark).org.apache...` every part of the name is a question of its own, and each package on the way
    is looked for as a class, in all jars: that was a tenth of what a small batch cost.
    """
    return getattr(jvm(spark), name)


def scala_list(sequence: Any) -> list[Any]:
    """Return the items of a Scala Seq."""
    return [sequence.apply(index) for index in range(sequence.size())]


def scala_none(spark: SparkSession) -> Any:
    """Return Scala's None."""
    return java_class(spark, "scala.Option").empty()


def hadoop_path(spark: SparkSession, directory: str, name: str) -> Any:
    """Return the org.apache.hadoop.fs.Path of a name in a directory."""
    return java_class(spark, "org.apache.hadoop.fs.Path")(directory, name)


def file_system(spark: SparkSession, path: Any) -> Any:
    """Return Hadoop's FileSystem of a path, with the session's settings. Spark copies all of them for it."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


class Garbage:
    """Lets Java have back what Python does not use any more.

    A Py4J object that was called is a cycle (it keeps its methods, and they keep it), so it goes only when Python's
    collector finds it, and with much in memory that one comes rarely. Java keeps what the object stands for until then:
    of every batch some 350 objects, among them its plans.
    """

    _SHARE = 0.02  # of the time, at most

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next = now()

    def keep(self) -> None:
        """What there is now stays: it is not looked through again."""
        gc.collect()
        gc.freeze()

    def collect(self) -> None:
        """To be called when something is done. Nothing happens when the last time was dear, and not long ago."""
        if (began := self._now()) < self._next:
            return
        gc.collect()
        ended = self._now()
        self._next = ended + (ended - began) / self._SHARE
