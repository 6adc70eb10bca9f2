"""Compressed files."""

import gzip
import os

import pytest

from tests.model.user_lab import DAY, HOUR, UserLab, pack


@pytest.mark.parametrize("compression", ["none", "auto"])
def test_a_longer_message_is_cut_whatever_the_file_is_packed_in(lab: UserLab, compression: str) -> None:
    lab.options = {"message_max_bytes": 10, "compression": compression}
    content = b"x" * 25 + b"\nshort\n"
    if compression == "auto":
        pack(lab, "a.log.gz", content)
    else:
        lab.append("a.log", content)
    lab.start()
    lab.until_messages("x" * 10, "short")
    assert lab.running.metrics.events_truncated == 1


def test_a_gz_among_plain_files_is_logged_once_when_compression_is_none(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    pack(lab, "a.log.gz", b"one\n")
    lab.start()
    lab.pass_time(HOUR)
    lab.append("a.log.gz", b"\n")
    lab.pass_time(HOUR)
    warnings = [line for line in caplog.messages if "looks like a gzip file" in line]
    assert len(warnings) == 1
    assert f"{lab.logs}/a.log.gz" in warnings[0]


def test_a_gz_of_several_members_arrives_whole(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lab.append("a.log.gz", gzip.compress(b"one\ntw") + gzip.compress(b"") + gzip.compress(b"o\nthree"))
    lab.start()
    lab.until_messages("one", "two", "three")


def test_a_gz_that_is_still_being_written_is_read_as_it_grows(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lines = [os.urandom(40).hex() for _ in range(5000)]
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    lab.append("a.log.gz", packed[:1])
    lab.start()
    lab.pass_time(1)
    for start in range(1, len(packed), len(packed) // 5):
        lab.append("a.log.gz", packed[start : start + len(packed) // 5])
        lab.pass_time(11)
    lab.wait_until(lambda: len(lab.messages) >= 5000)
    assert lab.messages == lines
    lab.pass_time(1)
    assert not lab.is_open("a.log.gz")


def test_a_gz_that_is_made_empty_beside_the_plain_file_and_filled_slowly_repeats_nothing(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lines = [os.urandom(40).hex() for _ in range(5000)]
    content = "".join(f"{line}\n" for line in lines).encode()
    lab.append("a.log.1", content)
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 5000)
    packed = gzip.compress(content)
    lab.append("a.log.1.gz", b"")
    lab.pass_time(1)
    for start in range(0, len(packed), 50_000):
        lab.append("a.log.1.gz", packed[start : start + 50_000])
        lab.pass_time(2)
    lab.remove("a.log.1")
    lab.pass_time(HOUR)
    assert lab.messages == lines


def test_a_damaged_gz_is_logged_once_shipped_up_to_the_damage_and_not_read_again_until_it_changes(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"compression": "auto"}
    packed = gzip.compress(b"one\ntwo\n") + b"not gzip"
    lab.append("a.log.gz", packed)
    lab.start()
    lab.pass_time(DAY, steps=200)
    assert lab.messages == ["one", "two"]
    assert lab.running.metrics.harvesters_started == 1
    (warning,) = [line for line in caplog.messages if "damaged" in line]
    assert f"{lab.logs}/a.log.gz" in warning
    assert f"compressed byte {len(packed) - 8}" in warning


def test_under_compression_gzip_a_file_that_is_not_gzip_is_logged_and_the_others_are_shipped(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"compression": "gzip"}
    lab.append("plain.log", "not packed\n")
    pack(lab, "a.log.gz", b"one\n")
    lab.start()
    lab.pass_time(DAY)
    assert lab.messages == ["one"]
    assert len([line for line in caplog.messages if f"{lab.logs}/plain.log" in line and "gzip" in line]) == 1
    assert lab.running.metrics.harvesters_started == 2
