"""Access to Spark's JVM beyond PySpark. Calls go through Py4J: each is a round trip, and untyped."""

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
    """Return the Java class of this qualified name, in one round trip. A missing class fails at its first use.

    In `jvm(spark).org.apache...` each part of the name is a round trip, and Java searches all jars for each package as
    a class: that took a tenth of the time of a small batch.
    """
    return getattr(jvm(spark), name)


def start_java(settings: Mapping[str, str]) -> Any:
    """Start a JVM without a session, and return the root of its packages; end it with `end_java`. Takes a second or
    two."""
    forget_ended_java()
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))
    return SparkContext._jvm


def end_java() -> None:
    """End the JVM that this process has started, and wait for it, at most END_SECONDS: otherwise the service manager
    would kill it."""
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None:  # set by launch_gateway; spark-submit's JVM ends after this process
        return
    gateway.shutdown()
    java: subprocess.Popen[bytes] = gateway.proc
    assert java.stdin is not None
    java.stdin.close()  # ends the JVM
    try:
        java.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()
    SparkContext._gateway = None  # `_jvm` stays: without it PySpark's errors have no text


def forget_ended_java() -> None:
    """Let the next session start a new JVM after `end_java`."""
    if SparkContext._gateway is None:
        SparkContext._jvm = None


class Garbage:
    """Releases Java objects that Python no longer uses.

    A Py4J object that was called forms a reference cycle with its methods, so only Python's garbage collector frees it,
    and with many objects in memory that runs rarely. Until then Java keeps the object: about 350 per batch, including
    query plans.
    """

    _SHARE = 0.02  # maximum share of the time

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next = now()

    def keep(self) -> None:
        """Exclude all existing objects from later collections."""
        gc.collect()
        gc.freeze()

    def collect(self) -> None:
        """Collect, unless that would take more than 2 % of the time. Call it after each batch."""
        if (began := self._now()) < self._next:
            return
        gc.collect()
        ended = self._now()
        self._next = ended + (ended - began) / self._SHARE
