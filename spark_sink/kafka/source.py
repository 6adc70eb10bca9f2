"""Spark's Kafka source: its options from the configuration, and the two ways to read."""

from pyspark.sql import DataFrame, SparkSession

from config.sink.java_options import Raw
from config.sink.model import SinkConfig
from config.sink.parts import texts
from spark_sink.kafka.offsets import Offsets, assigned, to_json
from spark_sink.kafka.security import client_security

# Options that a bounded read must not have.
OF_STREAMS = {"subscribe", "subscribepattern", "assign", "startingoffsets", "startingtimestamp"}
OF_STREAMS |= {"maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"}


def options(config: SinkConfig, starting_offsets: str = "earliest", waits: bool = True) -> dict[str, str]:
    """`begin` is where a new checkpoint begins (`start.Start.text`); one that is not new resumes where it is.

    Without `waits`, batches are as large as they come: the end of a bounded run need not have min_offsets_per_trigger.
    Spark would leave out a smaller remainder, and end an available-now run before it.
    The raw options of the configuration win. Raises SinkError.
    """
    ours = {
        **_topics(config),
        "startingOffsets": starting_offsets,
        # Without a bound, the first batch after a long pause would be all that has piled up.
        "maxOffsetsPerTrigger": str(config.max_offsets_per_trigger),
        # Of a record whose value is the message alone, the rest of the line is there.
        "includeHeaders": "true",
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


def stream(
    spark: SparkSession, config: SinkConfig, starting_offsets: str = "earliest", waits: bool = True
) -> DataFrame:
    """Return the stream of records: key, value, headers, topic, partition, offset, timestamp."""
    return spark.readStream.format("kafka").options(**options(config, starting_offsets, waits)).load()


def between(spark: SparkSession, config: SinkConfig, starts: Offsets, ends: Offsets) -> DataFrame:
    """Return the records from `starts` up to `ends` with the same columns, read once: no stream, no checkpoint.

    Both name the same partitions. Kafka must have the ends already: Spark would wait minutes for a record, then fail.
    """
    bounded = {key: value for key, value in options(config).items() if key.lower() not in OF_STREAMS}
    bounded |= {"assign": assigned(ends), "startingOffsets": to_json(starts), "endingOffsets": to_json(ends)}
    return spark.read.format("kafka").options(**bounded).load()


def whole_name(pattern: str) -> str:
    """Return a pattern of the whole name, as Kafka's consumers and the configuration mean it: Spark would also take a
    topic whose name has the pattern anywhere in it."""
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
        # As far as its writer is concerned, the records of an aborted transaction were never sent.
        "isolation.level": "read_committed",
        "metadata.max.age.ms": str(round(config.kafka.metadata_max_age * 1000)),
        **client_security(config.kafka),
    }


def _over(ours: dict[str, str], raw: Raw) -> dict[str, str]:
    """Return our options with the raw ones over them. Names are compared without case, as Spark does; those that begin
    with `kafka.` are case-sensitive, but no one sets two that differ in case only."""
    given = {key.lower() for key in raw}
    if given & {"subscribe", "subscribepattern", "assign"}:  # one of the three: the user's replaces ours
        given |= {"subscribe", "subscribepattern", "assign"}
    kept = {key: value for key, value in ours.items() if key.lower() not in given}
    return kept | texts(raw)
