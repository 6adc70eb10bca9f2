"""`shipper dead-letter`: its options, and what programs wrote into their logs on a terminal."""

import json
from pathlib import Path

import pytest

from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.event import Rejection
from log_shipper.shipper.letters.letter_box import DONE
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile
from tests.builders import batch
from tests.fakes import ManualClock

# CSI as one character, which JSON does not escape; a change of writing direction; DEL.
HOSTILE = "\x9b31m red \u202e\x7f\x1b[2J"


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["show"]])
def test_a_message_makes_a_terminal_do_nothing(
    words: list[str], tmp_path: Path, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    DeadLetterFile(tmp_path / FILE, clock).write(batch([HOSTILE]), [Rejection(0, HOSTILE, HOSTILE)])
    ids = ["".join(json.loads(line)["id"] for line in _listed(tmp_path, capsys))] if words == ["show"] else []
    assert main(["dead-letter", *words, *ids, "--path.data", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "red" in printed
    assert printed.replace("\n", "").isprintable()
    if words != ["list"]:
        assert json.loads(printed)["message"] == HOSTILE


def test_a_timeout_that_is_no_duration_is_refused_with_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dead-letter", "resend", "--timeout", "soon"])
    assert "--timeout: 'soon' is not a duration; write 5s, 1m30s" in capsys.readouterr().err


def test_letters_that_cannot_be_read_are_named_and_no_success(
    tmp_path: Path, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    DeadLetterFile(tmp_path / FILE, clock).write(batch(["a"]), [Rejection(0, "a", "refused")])
    with (tmp_path / FILE).open("a") as file:
        file.write('{"time": "", "reason": ""}\n')
    sent, unreadable = (json.loads(line)["id"] for line in _listed(tmp_path, capsys))
    config = tmp_path / "shipper.yml"
    config.write_text(f"shipper.inputs: [{{type: stdin, id: a}}]\noutput.file: {{path: {tmp_path}/sent}}\n")
    resend = ["dead-letter", "resend", "-c", str(config), "--path.data", str(tmp_path)]
    assert main([*resend, sent]) == 0, "the other one was not asked for"
    assert "cannot be read" not in capsys.readouterr().out
    for words in (resend, [*resend, unreadable]):
        assert main(words) == 3
        assert capsys.readouterr().out == (
            f"0 letters were resent\n1 letter was left in {tmp_path}\n"
            f"{unreadable[:8]}  cannot be read: this release cannot read it as a dead letter (lacks 'constants')\n"
        )


def test_letters_that_cannot_be_recorded_as_sent_end_a_resend_with_what_to_do(
    tmp_path: Path, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    DeadLetterFile(tmp_path / FILE, clock).write(batch(["a"]), [Rejection(0, "a", "refused")])
    (tmp_path / DONE).mkdir()
    config = tmp_path / "shipper.yml"
    config.write_text(f"shipper.inputs: [{{type: stdin, id: a}}]\noutput.file: {{path: {tmp_path}/sent}}\n")
    assert main(["dead-letter", "resend", "-c", str(config), "--path.data", str(tmp_path)]) == 1
    assert f"{DONE}: Is a directory. Once this is solved, run the command again" in capsys.readouterr().err


def _listed(directory: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["dead-letter", "list", "--json", "--path.data", str(directory)]) == 0
    return capsys.readouterr().out.splitlines()
