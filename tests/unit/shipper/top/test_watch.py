"""The document is asked for again and again, whatever happens to the program."""

import json
from pathlib import Path

import pytest

from log_shipper.runtime.http import Place
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.running_agent import socket_of
from log_shipper.shipper.top.document import Document, parse
from log_shipper.shipper.top.watch import Watch, ask
from tests.status_documents import document, serving, status_of


def test_a_document_comes_from_the_socket(tmp_path: Path) -> None:
    with serving(tmp_path / "shipper.sock", status_of(document())):
        assert ask(socket_of(tmp_path)).name == "web-1"


def test_what_is_no_document_is_an_error_in_words(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", lambda path: (200, b"<html>")),
        pytest.raises(StartError, match=r"shipper.sock is not a shipper or sink \(/status is not a JSON document\)$"),
    ):
        ask(socket_of(tmp_path))


def test_the_last_document_stays_while_the_agent_does_not_answer(tmp_path: Path) -> None:
    answers: list[Document | StartError] = [
        StartError("there is no socket"),
        parse(json.dumps(document()).encode()),
        StartError("it has ended"),
        parse(json.dumps(document(started=1.0)).encode()),
    ]

    def asked(place: Place) -> Document:
        answer = answers.pop(0)
        if isinstance(answer, StartError):
            raise answer
        return answer

    watch = Watch(socket_of(tmp_path), 1.0, asked)
    watch.step()
    assert (watch.latest.document, watch.latest.problem) == (
        None,
        "there is no socket. Next attempt every 1 s.",
    )
    watch.step()
    before = watch.latest.document
    watch.step()
    assert watch.latest.document is before
    assert watch.latest.problem.startswith("it has ended")
    watch.step()
    assert (watch.latest.document and watch.latest.document.started, watch.latest.problem) == (1.0, "")
