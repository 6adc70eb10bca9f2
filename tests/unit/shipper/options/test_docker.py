"""How the place of a Docker is written."""

import pytest

from log_shipper.shipper.options.docker import DockerHost, docker_host


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unix:///run/docker.sock", DockerHost(socket="/run/docker.sock")),
        ("tcp://127.0.0.1:2375", DockerHost(host="127.0.0.1", port=2375)),
        ("tcp://[::1]:2375/", DockerHost(host="::1", port=2375)),
        ("https://docker.example:2376", DockerHost(host="docker.example", port=2376)),
    ],
)
def test_docker_is_at_a_socket_or_an_address(text: str, expected: DockerHost) -> None:
    assert docker_host(text) == expected
