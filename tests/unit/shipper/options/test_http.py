import pytest

from tests.config_lab import ConfigLab

BASE = """
shipper.inputs: [{type: filestream, id: app, paths: [/var/log/app.log]}]
output.console: {}
"""


def test_by_default_only_the_socket_is_served(lab: ConfigLab) -> None:
    http = lab.load(BASE).http
    assert (http.enabled, http.host, http.port, http.socket, http.socket_path) == (False, "localhost", 5066, True, None)


def test_a_host_may_be_a_socket(lab: ConfigLab) -> None:
    http = lab.load(BASE + "http: {enabled: true, host: 'unix:///run/s.sock', socket: false}\n").http
    assert (http.enabled, http.socket_path, http.socket) == (True, "/run/s.sock", False)


def test_a_host_may_be_written_as_filebeat_allows(lab: ConfigLab) -> None:
    assert lab.load(BASE + "http.host: http://localhost\n").http.host == "localhost"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("{host: 'unix://s.sock'}", "http.host: must be an absolute path, as in unix:///run/shipper/http.sock"),
        ("{host: 'npipe:///shipper'}", "http.host: is a Windows named pipe"),
        ("{host: 'https://localhost'}", "http.host: must be only a host name or address"),
        ("{host: ''}", "http.host: is empty"),
        ("{port: 65536}", "http.port: "),
        ("true", "http: must be a section of options (key: value), as in 'http: {enabled: true}'"),
    ],
)
def test_a_mistake_is_named(lab: ConfigLab, options: str, words: str) -> None:
    assert words in "\n".join(lab.problems(BASE + f"http: {options}\n"))
