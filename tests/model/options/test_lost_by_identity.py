"""Files that end before all of them was shipped, where `file_identity` is not the default."""

from typing import Any

import pytest

from tests.model.user_lab import UserLab

HEAD = "h" * 63
OTHER = "o" * 63
FINGERPRINT = {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64}
BEHIND = "behind"  # a line without its end is not shipped


@pytest.fixture(params=["fingerprint", "path", "inode_marker"])
def named(request: pytest.FixtureRequest, lab: UserLab) -> UserLab:
    marker = lab.logs.parent / "marker"
    marker.write_text("this disk\n")
    options: dict[str, dict[str, Any]] = {
        "fingerprint": dict(FINGERPRINT),
        "path": {"file_identity.path": None},
        "inode_marker": {"file_identity.inode_marker.path": str(marker)},
    }
    lab.options = options[request.param]
    return lab


@pytest.fixture
def fingerprint(lab: UserLab) -> UserLab:
    lab.options = dict(FINGERPRINT)
    return lab


def stop_in_a_line(lab: UserLab) -> None:
    """Ship all of a file but its last line."""
    lab.ship("a.log", HEAD, "one")
    lab.append("a.log", BEHIND)
    lab.pass_time(20)
    lab.stop()


def expect_loss(lab: UserLab, caplog: pytest.LogCaptureFixture, words: str) -> None:
    """Start the agent: it logs and counts once what was not shipped."""
    caplog.clear()
    lab.start()
    lab.pass_time(60)
    (warning,) = [message for message in caplog.messages if "were not shipped" in message]
    assert words in warning
    assert f"{len(BEHIND)} bytes from offset {len(HEAD) + 5} " in warning
    assert lab.running.metrics.bytes_lost == len(BEHIND)
    caplog.clear()
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert "were not shipped" not in caplog.text


def test_a_file_that_was_deleted_while_down_is_lost(named: UserLab, caplog: pytest.LogCaptureFixture) -> None:
    stop_in_a_line(named)
    named.remove("a.log")
    expect_loss(named, caplog, "no longer exists")


@pytest.mark.parametrize("new", ["", "short\n", f"{OTHER}\nnew\n", f"{HEAD}\n"])
def test_under_fingerprint_a_file_that_was_truncated_while_down_is_lost(
    fingerprint: UserLab, caplog: pytest.LogCaptureFixture, new: str
) -> None:
    stop_in_a_line(fingerprint)
    fingerprint.truncate("a.log")
    fingerprint.append("a.log", new)
    expect_loss(fingerprint, caplog, "truncated or rewritten")


@pytest.mark.parametrize("new", ["", "short\n", f"{OTHER}\nnew\n"])
def test_under_fingerprint_a_file_that_was_deleted_and_created_again_while_down_is_lost(
    fingerprint: UserLab, caplog: pytest.LogCaptureFixture, new: str
) -> None:
    stop_in_a_line(fingerprint)
    fingerprint.remove("a.log")
    fingerprint.append("a.log", new)
    expect_loss(fingerprint, caplog, "no longer exists")


def test_under_fingerprint_a_closed_file_that_is_truncated_is_lost(
    fingerprint: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    stop_in_a_line(fingerprint)
    fingerprint.start()
    fingerprint.pass_time(600)
    assert not fingerprint.is_open("a.log")
    fingerprint.truncate("a.log")
    fingerprint.append("a.log", "short\n")
    fingerprint.pass_time(60)
    assert "truncated or rewritten" in caplog.text
    assert fingerprint.running.metrics.bytes_lost == len(BEHIND)


def test_under_inode_marker_a_file_that_was_replaced_while_down_is_lost(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    marker = lab.logs.parent / "marker"
    marker.write_text("this disk\n")
    lab.options = {"file_identity.inode_marker.path": str(marker)}
    stop_in_a_line(lab)
    lab.remove("a.log")
    lab.append("a.log", f"{OTHER}\nnew\n")
    expect_loss(lab, caplog, "no longer exists")


@pytest.mark.parametrize("made", ["copytruncate", "rename", "copy and delete"])
def test_under_fingerprint_nothing_is_lost_where_another_file_has_the_content(
    fingerprint: UserLab, caplog: pytest.LogCaptureFixture, made: str
) -> None:
    stop_in_a_line(fingerprint)
    if made == "copytruncate":
        fingerprint.copytruncate("a.log", to="a.log.1")
    elif made == "rename":
        fingerprint.rotate("a.log", to="a.log.1")
    else:
        fingerprint.copy("a.log", to="restored.log")
        fingerprint.remove("a.log")
    fingerprint.append("a.log", f"{OTHER}\nnew\n")
    with next(path for path in fingerprint.logs.iterdir() if path.name != "a.log").open("a") as other:
        other.write("\n")
    fingerprint.start()
    fingerprint.pass_time(60)
    assert sorted(fingerprint.messages) == sorted([HEAD, "one", BEHIND, OTHER, "new"])
    assert fingerprint.running.metrics.bytes_lost == 0
    assert "were not shipped" not in caplog.text


def test_under_another_length_of_the_fingerprint_files_are_new_and_nothing_is_lost(
    fingerprint: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    stop_in_a_line(fingerprint)
    fingerprint.options["prospector.scanner.fingerprint.length"] = 65
    fingerprint.start()
    fingerprint.pass_time(60)
    assert fingerprint.messages == [HEAD, "one", HEAD, "one"]
    assert "were not shipped" not in caplog.text
