"""From the options to where Docker is."""

import ssl
from pathlib import Path

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.http import Address, UnixSocket
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.docker.client import DockerClient, DockerError
from log_shipper.shipper.docker.place import place_of
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.docker import DockerTlsConfig
from tests.certificates import CertificateDirectory


def test_it_is_at_a_socket_or_an_address() -> None:
    assert place_of("unix:///run/docker.sock", None) == UnixSocket(Path("/run/docker.sock"))
    assert place_of("tcp://h:2375", None) == Address("h", 2375)


def options(files: CertificateDirectory, passphrase: str = "") -> DockerTlsConfig:
    certificate, key = files.issue(passphrase=passphrase)
    return DockerTlsConfig(certificate_authority=files.authorities(), certificate=certificate, key=Secret(key))


def test_tls_trusts_the_named_authority_alone(tmp_path: Path) -> None:
    place = place_of("tcp://h:2376", options(CertificateDirectory(tmp_path)))
    assert str(place) == "https://h:2376"
    assert isinstance(place, Address)
    assert place.is_secure
    context = place.tls()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(context.get_ca_certs()) == 1


@pytest.mark.parametrize("wrong", ["missing", "another", "sealed"])
def test_files_that_cannot_be_used_end_the_start(tmp_path: Path, wrong: str) -> None:
    files = CertificateDirectory(tmp_path)
    tls = options(files, passphrase="secret" if wrong == "sealed" else "")
    if wrong == "missing":
        (tmp_path / "authority.pem").unlink()
    if wrong == "another":
        assert tls.key is not None
        Path(tls.key.reveal()).write_bytes(Path(files.issue("other")[1]).read_bytes())
    with pytest.raises(StartError, match=r"cannot use the ssl files for Docker at tcp://h:2376 \(.*authority.pem, "):
        place_of("tcp://h:2376", tls)


def test_a_file_that_disappears_later_is_an_error_of_docker(tmp_path: Path) -> None:
    place = place_of("tcp://h:2376", options(CertificateDirectory(tmp_path)))
    (tmp_path / "authority.pem").unlink()
    with pytest.raises(DockerError, match="cannot read the ssl files for Docker at https://h:2376"):
        DockerClient(place, SystemClock()).containers()
