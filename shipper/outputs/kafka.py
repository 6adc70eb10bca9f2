"""`output.kafka`: sends records to topics, at least once or exactly once. Its options are in options/kafka.py, for all
Kafka clients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from log_shipper.config.yaml.report import Examination
from log_shipper.runtime.kafka import load_library
from log_shipper.shipper.event import Batch
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Output, Records
from log_shipper.shipper.outputs.base import CheckSteps, OutputContext, OutputKind


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOutput(OutputKind, KafkaOutputConfig):
    example: ClassVar = "output.kafka: {hosts: [kafka-1:9092, kafka-2:9092], topic: logs}"

    def examine(self) -> Examination:
        load_library()  # not needed by other outputs
        from log_shipper.shipper.output.kafka_settings import examine

        return examine(self)

    def describe(self) -> str:
        topics = [*(rule.topic for rule in self.topics), *([self.topic] if self.topic else [])]
        name = "topic" if len(topics) == 1 else "topics, the first that an event has:"
        return f"kafka, {name} {', '.join(topics)} at {', '.join(self.hosts)}"

    def open(self, config: ShipperConfig, context: OutputContext) -> Output:
        if self.commits_positions:
            from log_shipper.shipper.outputs.transactions import transactions  # rarely used

            return transactions(self, config, context)
        from log_shipper.shipper.outputs.at_least_once import at_least_once

        return at_least_once(self, config.queue.mem, context)

    def try_out(self, step: CheckSteps) -> bool:
        from log_shipper.shipper.outputs.kafka_check import check_kafka

        return check_kafka(self, step)

    def records(self) -> Records:
        from log_shipper.shipper.outputs.kafka_records import samples

        return samples(self)

    def fit(self, metrics: Metrics) -> Callable[[Batch], None]:
        if self.oversized != "split":
            return OutputKind.fit(self, metrics)
        from log_shipper.shipper.outputs.kafka_records import splitter

        return splitter(self, metrics)


def kafka_of(config: ShipperConfig) -> KafkaOutputConfig | None:
    """Return the enabled output if it is Kafka."""
    return config.output.chosen if isinstance(config.output.chosen, KafkaOutputConfig) else None
