"""Spark's Kafka source, as the configuration has it."""

from pyspark.sql import DataFrame, SparkSession

from config.sink import SinkConfig


def options(config: SinkConfig) -> dict[str, str]:
    """The raw options of the configuration win."""
    ours = {
        "kafka.bootstrap.servers": config.kafka.bootstrap_servers,
        "subscribe": ",".join(config.kafka.topics),
        # Where a new checkpoint begins. Partitions found later are read from their start in any case.
        "startingOffsets": config.start,
        # Without a bound, the first batch after a long pause would be all that has piled up.
        "maxOffsetsPerTrigger": str(config.max_offsets_per_trigger),
        # Records of a transaction that was aborted were never sent, as far as its writer is concerned.
        "kafka.isolation.level": "read_committed",
    }
    return ours | {key: _text(value) for key, value in config.kafka.options.items()}


def client_options(config: SinkConfig) -> dict[str, str]:
    """What Kafka's own client is told: the options that begin with `kafka.`."""
    return {key.removeprefix("kafka."): value for key, value in options(config).items() if key.startswith("kafka.")}


def stream(spark: SparkSession, config: SinkConfig) -> DataFrame:
    """key, value, topic, partition, offset, timestamp of each record."""
    return spark.readStream.format("kafka").options(**options(config)).load()


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
