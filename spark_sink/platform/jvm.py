"""Spark's Java, for what PySpark does not offer. The calls go through Py4J: each is a round trip, and nothing is
typed."""

import gc
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

END_SECONDS = 10.0


def spark_home() -> Path:
    """Return the directory of the installed Spark."""
    return Path(pyspark.__file__).parent


def jvm(spark: SparkSession) -> Any:
    """Return the root of all Java packages. The session must be running."""
    assert spark._jvm is not None
    return spark._jvm


def java_class(spark: SparkSession, name: str) -> Any:
    """Return the Java class of this qualified name, by one round trip. One that does not exist fails at its first use.

    Written as `jvm(spark).org.apache...` every part of the name is a round trip, and Java looks for each package on the
    way as a class, in all jars: that was a tenth of what a small batch cost.
    """
    return getattr(jvm(spark), name)


def start_java(settings: Mapping[str, str]) -> Any:
    """Start a JVM without a session, and return the root of its packages; to be ended by `end_java`. Takes a second or
    two."""
    forget_ended_java()
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))
    return SparkContext._jvm


def end_java() -> None:
    """End the JVM that this process has started, and wait for its end: what outlives the sink would be killed by its
    service manager. Waits END_SECONDS at most."""
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None:  # set by launch_gateway; spark-submit's JVM ends after this process
        return
    gateway.shutdown()
    java: subprocess.Popen[bytes] = gateway.proc
    assert java.stdin is not None
    java.stdin.close()  # on which it ends
    try:
        java.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()
    SparkContext._gateway = None  # but not `_jvm`: without it PySpark's errors have no text any more


def forget_ended_java() -> None:
    """Let a session start a JVM of its own after `end_java`."""
    if SparkContext._gateway is None:
        SparkContext._jvm = None


class Garbage:
    """Releases the Java objects that Python does not use any more.

    A Py4J object that was called is a reference cycle with its methods, so only Python's garbage collector frees it,
    and with much in memory that runs rarely. Until then Java keeps the object behind it: some 350 of every batch, its
    plans among them.
    """

    _SHARE = 0.02  # of the time, at most

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next = now()

    def keep(self) -> None:
        """Exclude all objects that exist now from later collections."""
        gc.collect()
        gc.freeze()

    def collect(self) -> None:
        """Collect, unless that would take more than 2 % of the time. To be called after each batch."""
        if (began := self._now()) < self._next:
            return
        gc.collect()
        ended = self._now()
        self._next = ended + (ended - began) / self._SHARE
