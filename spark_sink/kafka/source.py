"""Spark's Kafka source, as the configuration has it."""

from pyspark.sql import DataFrame, SparkSession

from config.sink.kafka import Raw
from config.sink.model import SinkConfig
from config.sink.parts import texts
from spark_sink.kafka.offsets import Offsets, assigned, to_json
from spark_sink.kafka.security import client_security

# Options that a bounded read must not have.
OF_STREAMS = {"subscribe", "subscribepattern", "assign", "startingoffsets", "startingtimestamp"}
OF_STREAMS |= {"maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"}


def options(config: SinkConfig, begin: str = "earliest", waits: bool = True) -> dict[str, str]:
    """`begin` is where a new checkpoint begins (`start.Start.text`); one that is not new resumes where it is.

    Without `waits`, batches are as large as they come: the end of a bounded run need not have min_offsets_per_trigger.
    Spark would take the rest that is smaller for nothing at all, and end an available-now run before it.
    The raw options of the configuration win. Raises SinkError.
    """
    ours = {
        **_topics(config),
        "startingOffsets": begin,
        # Without a bound, the first batch after a long pause would be all that has piled up.
        "maxOffsetsPerTrigger": str(config.max_offsets_per_trigger),
        "failOnDataLoss": "true" if config.lost_offsets == "fail" else "false",
        **{f"kafka.{key}": value for key, value in _client(config).items()},
    }
    if waits and config.min_offsets_per_trigger:
        ours["minOffsetsPerTrigger"] = str(config.min_offsets_per_trigger)
        ours["maxTriggerDelay"] = f"{round(config.max_trigger_delay * 1000)}ms"
    return _over(ours, config.kafka.options)


def client_options(config: SinkConfig) -> dict[str, str]:
    """Return the options of Kafka's own client, those that begin with `kafka.`. Raises SinkError."""
    return {key.removeprefix("kafka."): value for key, value in options(config).items() if key.startswith("kafka.")}


def stream(spark: SparkSession, config: SinkConfig, begin: str = "earliest", waits: bool = True) -> DataFrame:
    """key, value, topic, partition, offset, timestamp of each record."""
    return spark.readStream.format("kafka").options(**options(config, begin, waits)).load()


def between(spark: SparkSession, config: SinkConfig, starts: Offsets, ends: Offsets) -> DataFrame:
    """Return the same columns of the records from `starts` up to `ends`, read once: no stream, no checkpoint.

    Both name the same partitions. An end must be there already: Spark would wait minutes for a record, then fail.
    """
    bounded = {key: value for key, value in options(config).items() if key.lower() not in OF_STREAMS}
    bounded |= {"assign": assigned(ends), "startingOffsets": to_json(starts), "endingOffsets": to_json(ends)}
    return spark.read.format("kafka").options(**bounded).load()


def whole_name(pattern: str) -> str:
    """Spark takes a topic whose name has the pattern anywhere in it; Kafka's consumers, and we, mean the whole name."""
    return rf"\A(?:{pattern})\z"


def _topics(config: SinkConfig) -> dict[str, str]:
    kafka = config.kafka
    if kafka.topics_pattern:
        return {"subscribePattern": whole_name(kafka.topics_pattern)}
    if kafka.partitions:
        wanted = [(topic, number) for topic, numbers in kafka.partitions.items() for number in numbers]
        return {"assign": assigned(wanted)}
    return {"subscribe": ",".join(kafka.topics)}


def _client(config: SinkConfig) -> dict[str, str]:
    return {
        "bootstrap.servers": config.kafka.bootstrap_servers,
        # Records of a transaction that was aborted were never sent, as far as its writer is concerned.
        "isolation.level": "read_committed",
        "metadata.max.age.ms": str(round(config.kafka.metadata_max_age * 1000)),
        **client_security(config.kafka),
    }


def _over(ours: dict[str, str], raw: Raw) -> dict[str, str]:
    """Spark's options are case-insensitive (those that begin with `kafka.` are not, but no one has two of a kind)."""
    given = {key.lower() for key in raw}
    if given & {"subscribe", "subscribepattern", "assign"}:  # one of the three, so theirs takes the place of ours
        given |= {"subscribe", "subscribepattern", "assign"}
    kept = {key: value for key, value in ours.items() if key.lower() not in given}
    return kept | texts(raw)
