from pathlib import Path

from demo.site import Site, has_package_log
from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.outputs.kafka import kafka_of
from log_shipper.spark_sink.options.model import SinkConfig


def made(tmp_path: Path) -> Site:
    site = Site(tmp_path / "demo")
    site.make("127.0.0.1:9")
    return site


def test_the_shipper_reads_all_the_logs_and_joins_the_stack_traces(tmp_path: Path) -> None:
    site = made(tmp_path)
    config = load(site.shipper_config, ShipperConfig)
    enabled = [given for given in config.file_inputs if given.enabled]
    assert [path for given in enabled for path in given.paths] == [str(path) for path in site.logs]
    assert [given.id for given in enabled if given.parsers] == ["checkout", "kafka"]
    assert ("packages" in [given.id for given in enabled]) == has_package_log()


def test_the_sink_reads_the_topic_that_the_shipper_writes(tmp_path: Path) -> None:
    site = made(tmp_path)
    shipper = kafka_of(load(site.shipper_config, ShipperConfig))
    sink = load(site.sink_config, SinkConfig)
    assert shipper is not None
    assert (shipper.hosts, (shipper.topic,)) == (sink.kafka.hosts, sink.kafka.topics)


def test_everything_that_is_written_lies_in_the_folder(tmp_path: Path) -> None:
    site = made(tmp_path)
    sink = load(site.sink_config, SinkConfig)
    environment = site.environment({"PATH": "/bin"})
    places = [sink.table.path, sink.checkpoint.path, environment["TMPDIR"], environment["SPARK_LOCAL_DIRS"]]
    assert all(Path(place).is_relative_to(site.folder) for place in places)
    assert environment["PATH"] == "/bin"
