"""`queue.disk` and its watermarks."""

import pytest

from log_shipper.config.text.units import parse_watermark, readable_watermark
from log_shipper.shipper.options.queues import DiskQueueConfig, WatermarkConfig
from tests.config_lab import ConfigLab

INPUTS = "shipper.inputs: [{type: filestream, id: a, paths: [/a]}]\noutput.console: {}\n"


def test_without_the_section_there_is_none(lab: ConfigLab) -> None:
    assert lab.load(INPUTS).queue.disk is None


def test_the_options_of_filebeat_and_ours_are_read(lab: ConfigLab) -> None:
    config = lab.load(
        f"{INPUTS}queue.disk: {{path: /q, max_size: 10GiB, segment_size: 1GiB, read_ahead: 10, write_ahead: 20, "
        "retry_interval: 2s, max_retry_interval: 1m, compression: none, flush: 1s, watermark.low: 50GiB, "
        "watermark.high: 20GiB, watermark.flood: 10GiB}\n"
    )
    assert config.queue.disk == DiskQueueConfig(
        path="/q",
        max_size=10 * 1024**3,
        segment_size=1024**3,
        read_ahead=10,
        write_ahead=20,
        retry_interval=2.0,
        max_retry_interval=60.0,
        compression="none",
        flush=1.0,
        watermark=WatermarkConfig(low=-50.0 * 1024**3, high=-20.0 * 1024**3, flood=-10.0 * 1024**3),
    )


def test_a_segment_is_a_tenth_of_the_queue() -> None:
    assert DiskQueueConfig(max_size=100 * 1024**2).bytes_of_segment == 10 * 1024**2
    assert DiskQueueConfig(max_size=0).bytes_of_segment == 1024**3 // 10


@pytest.mark.parametrize(
    ("written", "where", "message"),
    [
        ("max_size: 1MiB", "max_size", "must be at least 10MiB, or 0 for no limit"),
        ("{max_size: 20MiB, segment_size: 11MiB}", "segment_size", "must be at most half of max_size"),
        ("segment_size: 1KiB", "segment_size", "must be at least 1MiB"),
        ("{retry_interval: 2m}", "max_retry_interval", "must be at least retry_interval"),
        ("{watermark.low: 91%}", "watermark", "low must be reached before high"),
        (
            "{watermark.low: 50GiB}",
            "watermark",
            "low, high and flood must all be percentages, or all sizes of free space",
        ),
        ("{watermark.high: 120%}", "watermark.high", "'120%' is not a watermark; write the maximum usage (like 85%)"),
        ("{compression: gzip}", "compression", "zstd"),
    ],
)
def test_a_mistake_is_reported_with_what_would_be_right(lab: ConfigLab, written: str, where: str, message: str) -> None:
    section = written if written.startswith("{") else f"{{{written}}}"
    (problem,) = lab.problems(f"{INPUTS}queue.disk: {section}\n")
    assert f"queue.disk.{where}" in str(problem)
    assert message in str(problem)


@pytest.mark.parametrize(("text", "value"), [("85%", 0.85), ("100 %", 1.0), ("1MiB", -(1024.0**2)), ("0.5%", 0.005)])
def test_a_watermark_is_a_share_or_what_stays_free(text: str, value: float) -> None:
    assert parse_watermark(text) == value
    assert parse_watermark(readable_watermark(value)) == value


@pytest.mark.parametrize("text", ["0", "101%", "-1%", "much", ""])
def test_what_is_no_watermark_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a watermark"):
        parse_watermark(text)


@pytest.mark.parametrize(("kind", "warns"), [("{type: http_endpoint}", True), ("{id: a, paths: [/a]}", False)])
def test_a_queue_that_is_off_is_odd_for_what_cannot_be_read_again(lab: ConfigLab, kind: str, warns: bool) -> None:
    config = lab.load(f"shipper.inputs: [{kind}]\noutput.console: {{}}\nqueue.disk.enabled: false\n")
    assert (
        any("events of type http_endpoint cannot be re-read: pending ones are lost" in line for line in config.notes)
        == warns
    )
