"""Whether the topics are there. Asked through the client that Spark brings, so that the same options count.

Spark's source fails at once on a topic that does not exist. But a topic is often made by the first record, and the
order in which the parts of a pipeline are started should not matter: so the job waits for it, and says so.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from spark_sink.errors import SPARK_ERRORS, translate

ANSWER_SECONDS = 20.0


def wait_for(
    names: Callable[[], set[str]], topics: Sequence[str], say: Callable[[str], None], pause: Callable[[], bool]
) -> bool:
    """Until all topics are there. `pause` sits out the time between two questions; False as soon as it says to stop."""
    said: set[str] = set()
    while missing := set(topics) - names():
        if missing != said:
            say(f"waiting for {_listed(missing)}, which Kafka does not have yet")
            said = missing
        if pause():
            return False
    if said:
        say(f"{_listed(said)} appeared")
    return True


def _listed(topics: set[str]) -> str:
    return ("topic " if len(topics) == 1 else "topics ") + ", ".join(sorted(topics))


class Admin:
    """Kafka's admin client, a context manager. A question blocks `patience` seconds at most, then raises SinkError."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], patience: float = ANSWER_SECONDS) -> None:
        self._spark = spark
        self._options = options
        self._milliseconds = round(patience * 1000)
        self._servers = options.get("bootstrap.servers", "")

    def __enter__(self) -> "Admin":
        jvm: Any = self._spark._jvm
        properties = jvm.java.util.Properties()
        timeouts = {"default.api.timeout.ms": self._milliseconds, "request.timeout.ms": self._milliseconds // 2}
        for key, value in {**self._options, **timeouts}.items():
            properties.setProperty(key, str(value))
        self._client = self._ask(lambda: jvm.org.apache.kafka.clients.admin.Admin.create(properties))
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def names(self) -> set[str]:
        """All topics that these credentials may see."""
        return {str(name) for name in self._ask(lambda: self._client.listTopics().names().get())}

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except SPARK_ERRORS as error:
            raise translate(str(error), f"cannot read from Kafka at {self._servers}") from error
