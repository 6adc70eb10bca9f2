"""What a tap shows of an event is what the output sends."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from log_shipper.config.text.secrets import MASK
from log_shipper.config.yaml.load import load
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.outputs.at_least_once import kafka_context
from log_shipper.shipper.outputs.base import LineOutput, OutputContext, kind_of
from log_shipper.shipper.outputs.kafka import kafka_of
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import AGENT, RecordedDeliveries
from tests.fakes import ManualClock, MemoryKafka
from tests.processing import batch_of

INPUTS = "shipper.inputs: [{type: filestream, id: app, paths: [/x.log]}]\n"
EVENTS: list[Doc] = [
    {"message": "plain"},
    {"message": "x" * 4000, "team": "b"},
    {"team": "a b"},
    {"message": "Łódź\x07", "n": 1},
]

# Options of output.kafka, beside hosts.
KAFKA = [
    "topic: logs",
    "topic: 'logs-%{[team]:all}', key: '%{[message]}'",
    "topic: logs, max_message_bytes: 2000",
    "topic: logs, max_message_bytes: 2000, oversized: dead_letter",
    "topic: logs, codec.format.string: '%{[message]}', headers: [{key: a, value: b}]",
    "topic: logs, codec.json.pretty: true, timestamp: event",
]


def config(tmp_path: Path, output: str) -> ShipperConfig:
    path = tmp_path / "shipper.yml"
    path.write_text(f"{INPUTS}{output}\n")
    path.chmod(0o600)
    return load(path, ShipperConfig)


@dataclass
class RecordsLab:
    clock: ManualClock
    kafka: MemoryKafka = field(default_factory=MemoryKafka)
    deliveries: RecordedDeliveries = field(default_factory=RecordedDeliveries)

    def output(self, loaded: ShipperConfig) -> AtLeastOnce:
        chosen, metrics = kafka_of(loaded), Metrics()
        assert chosen is not None
        publisher = Publisher(MemoryQueue(1, 1), None, metrics, self.clock)  # type: ignore[arg-type]  # not used
        context = OutputContext(publisher, metrics, self.clock, AGENT, Staging())
        return AtLeastOnce(self.kafka.connect, kafka_context(chosen, context), self.deliveries)


@pytest.mark.parametrize("options", KAFKA)
def test_a_tap_shows_what_kafka_gets(options: str, tmp_path: Path, clock: ManualClock) -> None:
    loaded = config(tmp_path, f"output.kafka: {{hosts: [h], {options}}}")
    lab, events = RecordsLab(clock), batch_of(EVENTS)
    output = lab.output(loaded)
    output.publish(events)
    while output.in_flight:
        output.poll(0)
    records = kind_of(loaded).records()
    samples = [sample for index in range(events.events) for sample in records(events.part([index]))]
    shown = sorted((sample.topic, sample.key, sample.value, list(sample.headers)) for sample in samples)
    configured = {"a"}  # values of headers may be secrets
    sent = [
        (
            item.topic,
            item.key,
            item.value,
            [(name, MASK if name in configured else text) for name, text in item.headers],
        )
        for item in lab.kafka.sent
    ]
    assert shown == sorted(sent)
    assert {sample.path for sample in samples} == {events.source.path}


@pytest.mark.parametrize("codec", ["", "codec.json.pretty: true", "codec.format.string: '%{[message]}'"])
@pytest.mark.parametrize("output", ["console", "file"])
def test_a_tap_shows_what_is_written(output: str, codec: str, tmp_path: Path) -> None:
    where = f"path: {tmp_path}/out" if output == "file" else ""
    loaded = config(tmp_path, f"output.{output}: {{{', '.join(filter(None, [where, codec]))}}}")
    events = batch_of(EVENTS[:2] if "format" in codec else EVENTS)
    assert [sample.value for sample in kind_of(loaded).records()(events)] == written(loaded, events)


def written(loaded: ShipperConfig, events: Batch) -> list[str]:
    assert isinstance(loaded.output.chosen, LineOutput)
    return loaded.output.chosen.make_codec().encode(events)


def test_what_the_output_refuses_is_not_shown(tmp_path: Path) -> None:
    loaded = config(tmp_path, "output.kafka: {hosts: [h], topic: '%{[team]}'}")
    samples = kind_of(loaded).records()(batch_of(EVENTS))
    assert [(sample.topic, sample.key) for sample in samples] == [("b", "f1")]
