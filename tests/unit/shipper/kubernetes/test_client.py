"""Requests to a server that answers as API servers do, and as they should not."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.api_error import ApiError
from log_shipper.shipper.kubernetes.client import LIMITS, METADATA_ONLY, Client, RequestLimits
from tests.certificates import CertificateDirectory
from tests.fakes import ManualClock
from tests.kubernetes_api import Answer, KubernetesApi, Pem, job, pod

PODS = "/api/v1/pods"


class MakeClient(Protocol):
    def __call__(self, api: KubernetesApi, limits: RequestLimits = ..., **access: Any) -> Client: ...


@pytest.fixture
def client() -> Iterator[MakeClient]:
    with ExitStack() as stack:

        def make(api: KubernetesApi, limits: RequestLimits = LIMITS, **access: Any) -> Client:
            made = Client(api.access(**access), ManualClock(), limits)
            stack.callback(made.close)
            return made

        yield make


def problem(asked: Client, path: str = PODS) -> ApiError:
    with pytest.raises(ApiError) as raised:
        asked.get(path)
    return raised.value


def test_one_connection_is_used_for_all_requests_and_replaced_when_the_server_has_closed_it(
    api: KubernetesApi, client: MakeClient
) -> None:
    asked = client(api)
    api.put("pods", pod("a"))
    assert asked.get("/api/v1/namespaces/shop/pods/a")["metadata"]["name"] == "a"
    assert problem(asked, "/api/v1/namespaces/shop/pods/b").kind == "refused"
    assert asked.get(PODS, {"limit": "1"})["items"]
    assert api.connections == 1
    api.answers["/close"] = Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    assert asked.get("/close") == {}
    assert asked.get(PODS)["items"]
    assert api.connections == 2
    assert len(api.requests) == 5


def test_only_the_metadata_of_an_object_can_be_asked_for(api: KubernetesApi, client: MakeClient) -> None:
    api.put("jobs", job("daily-1", "daily"))
    assert client(api).get("/apis/batch/v1/namespaces/shop/jobs/daily-1", accept=METADATA_ONLY)["metadata"]
    assert "as=PartialObjectMetadata" in api.requests[0].accept


def test_a_token_that_was_replaced_is_read_again(api: KubernetesApi, tmp_path: Path, client: MakeClient) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    api.token = "first"
    asked = client(api, token="", token_file=str(file))
    asked.get(PODS)
    file.write_text("second")
    api.token = "second"
    asked.get(PODS)
    assert [request.token for request in api.requests] == ["first", "second"]
    api.token = "third"
    assert problem(asked).kind == "unauthorized"


def test_a_token_that_is_replaced_during_the_request_is_tried_at_once(
    api: KubernetesApi, tmp_path: Path, client: MakeClient
) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    api.token = "new"
    api.on_request = lambda: file.write_text("new")
    assert client(api, token="", token_file=str(file)).get(PODS)["items"] == []
    assert [request.token for request in api.requests] == ["old", "new"]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (Answer(401, "Unauthorized"), "unauthorized", "HTTP 401: Unauthorized"),
        (Answer(403, "no"), "forbidden", "HTTP 403: no"),
        (Answer(410, "old"), "expired", "HTTP 410: old"),
        (Answer(429, "slow", headers={"Retry-After": "7"}), "throttled", "HTTP 429: slow"),
        (Answer(503, "away"), "server", "HTTP 503: away"),
        (Answer(400, "x" * 5000), "refused", "HTTP 400: " + "x" * 500),
        (Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"), "malformed", "not a JSON object"),
        (Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<ht>"), "malformed", "is not JSON"),
        (Answer(raw=b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\n<ht>"), "server", "HTTP 502: <ht>"),
        (Answer(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), "connection", "no connection to the API server"),
        (Answer(raw=b""), "connection", "no connection to the API server"),
        (Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "connection", "no connection"),
        (Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), "malformed", "is not JSON"),
    ],
)
def test_what_goes_wrong_has_a_kind_and_the_servers_words(
    api: KubernetesApi, answer: Answer, kind: str, text: str, client: MakeClient
) -> None:
    api.answers[PODS] = answer
    asked = client(api)
    error = problem(asked)
    assert (error.kind, text in str(error)) == (kind, True), str(error)
    assert error.retry_after == (7 if kind == "throttled" else 0)
    del api.answers[PODS]
    assert asked.get(PODS)["items"] == []  # the client can be used further


def test_a_server_that_does_not_answer_is_given_up(api: KubernetesApi, client: MakeClient) -> None:
    api.gate.clear()
    assert problem(client(api, RequestLimits(timeout=0.05))).kind == "timeout"


def test_an_answer_that_comes_drop_by_drop_is_given_up(api: KubernetesApi, client: MakeClient) -> None:
    api.answers[PODS] = Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b" " * 200_000)
    assert problem(client(api, RequestLimits(max_seconds=-1.0))).kind == "timeout"


def test_a_port_without_a_server_is_a_connection_that_failed() -> None:
    with socket.socket() as bound:  # and does not listen; no one else can have the port
        bound.bind(("127.0.0.1", 0))
        error = problem(
            Client(ApiAccess(host="127.0.0.1", port=bound.getsockname()[1], source="the test"), ManualClock())
        )
    assert (error.kind, "Connection refused" in str(error)) == ("connection", True)


def test_a_token_that_is_none_does_not_get_into_the_error(api: KubernetesApi, client: MakeClient) -> None:
    error = problem(client(api, token="secret\r\nHost: x"))
    assert (error.kind, "secret" in str(error)) == ("unauthorized", False)


def test_an_event_of_any_size_is_bounded(api: KubernetesApi, client: MakeClient) -> None:
    api.send("pods", {"type": "ADDED", "object": {"x": "y" * 2000}})
    with pytest.raises(ApiError) as raised:
        list(client(api, RequestLimits(event=1000)).watch(PODS, {"watch": "true", "resourceVersion": "1"}, 5))
    assert raised.value.kind == "too_large"


def first_event_after_a_silence(api: KubernetesApi, client: MakeClient) -> Doc | None:
    """Return None where the answer did not begin in time: the machine was busy with something else."""
    timers: list[threading.Timer] = []

    def answered() -> None:
        timers.append(threading.Timer(0.8, lambda: api.put("pods", pod("a"))))
        timers[0].start()

    events = client(api, RequestLimits(timeout=0.5)).watch(
        PODS, {"watch": "true", "resourceVersion": "1"}, 60, answered
    )
    try:
        return next(events)
    except ApiError:
        if timers:
            raise
        return None
    finally:
        for timer in timers:
            timer.join()


def test_a_watch_may_be_silent_for_longer_than_an_answer(api: KubernetesApi, client: MakeClient) -> None:
    firsts = (first_event_after_a_silence(api, client) for _ in range(20))
    first = next(filter(None, firsts), None)
    assert first is not None
    assert first["type"] == "ADDED"
    events = client(api).watch(PODS, {"watch": "true", "resourceVersion": "9"}, 0.05)
    with pytest.raises(ApiError) as raised:
        next(events)
    assert raised.value.kind == "timeout"


def test_a_watch_that_waits_is_ended_by_another_thread(api: KubernetesApi, client: MakeClient) -> None:
    asked = client(api)
    errors: list[str] = []

    def watch() -> None:
        try:
            list(asked.watch(PODS, {"watch": "true", "resourceVersion": "1"}, 60))
        except ApiError as error:
            errors.append(error.kind)

    api.gate.clear()
    thread = threading.Thread(target=watch)
    thread.start()
    api.wait_for_requests(1)
    api.gate.set()
    asked.interrupt()
    thread.join(30)
    assert not thread.is_alive()
    assert errors == ["connection"]
    assert problem(asked).kind == "connection"


class TestTls:
    @pytest.fixture
    def files(self, tmp_path: Path) -> CertificateDirectory:
        return CertificateDirectory(tmp_path)

    def test_the_servers_certificate_is_checked_against_the_authority(
        self, files: CertificateDirectory, client: MakeClient
    ) -> None:
        with KubernetesApi(certificate=files.issue_for("127.0.0.1")) as api:
            trusted = Pem(file=files.authorities())
            assert client(api, authorities=trusted).get(PODS)["items"] == []
            assert client(api, authorities=Pem(text=Path(trusted.file).read_text())).get(PODS)["items"] == []
            assert client(api, verifies=False).get(PODS)["items"] == []
            error = problem(client(api))
            assert (error.kind, "certificate rejected" in str(error)) == ("tls", True)
            error = problem(client(api, authorities=Pem(file="/none.crt")))
            assert "/none.crt: No such file" in str(error)

    def test_a_client_that_is_interrupted_within_the_handshake_asks_nothing(
        self, files: CertificateDirectory, client: MakeClient
    ) -> None:
        """Else it would wait for minutes for what happens next, with no one to interrupt it."""
        with KubernetesApi(certificate=files.issue_for("127.0.0.1")) as api:
            asked = client(api, verifies=False)
            api.at_handshake(asked.interrupt)
            assert "the client is closed" in str(problem(asked))
            assert api.requests == []

    def test_a_server_may_have_another_name_in_its_certificate(
        self, files: CertificateDirectory, client: MakeClient
    ) -> None:
        with KubernetesApi(certificate=files.issue_for("api.example")) as api:
            trusted = Pem(file=files.authorities())
            assert problem(client(api, authorities=trusted)).kind == "tls"
            assert client(api, authorities=trusted, server_name="api.example").get(PODS)["items"] == []

    def test_a_client_certificate_is_shown_whether_it_is_in_a_file_or_not(
        self, files: CertificateDirectory, client: MakeClient
    ) -> None:
        with KubernetesApi(certificate=files.issue_for("127.0.0.1"), clients=files.authorities()) as api:
            trusted = Pem(file=files.authorities())
            certificate, key = files.issue()
            of_files = {"certificate": Pem(file=certificate), "key": Pem(file=key)}
            of_texts = {name: Pem(text=Path(pem.file).read_text()) for name, pem in of_files.items()}
            for shown in (of_files, of_texts):
                pems: dict[str, Any] = {**shown, "authorities": trusted}
                assert client(api, **pems).get(PODS)["items"] == []
            assert problem(client(api, authorities=trusted)).kind in ("tls", "connection")
