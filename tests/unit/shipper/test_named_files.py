"""Files that a configuration names, or that path.data has: what is no regular file of a bounded size stops no one."""

import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Producer

from log_shipper.config.text.secrets import Secret
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.files import MAX_BYTES, read_bytes, read_plain
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.runtime.kafka import tls
from log_shipper.runtime.kafka.clients import refusal
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.shipper.agent.data_directory import DataDirectory
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.cloud.start import services
from log_shipper.shipper.docker.place import place_of
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.identity.fingerprint import name_of_file
from log_shipper.shipper.kubernetes.access import ApiAccess, Pem
from log_shipper.shipper.kubernetes.kubeconfig import read_kubeconfig
from log_shipper.shipper.options.cloud import CloudTlsConfig
from log_shipper.shipper.options.docker import DockerTlsConfig
from log_shipper.shipper.options.identity import FileIdentityConfig
from log_shipper.shipper.options.inputs import InputConfig
from log_shipper.shipper.options.keystore import read_keystore
from tests.certificates import CertificateDirectory

SECONDS = 20.0  # that one call may take
Use = Callable[[Path, CertificateDirectory], object]


def kubernetes(**files: Path) -> object:
    pems = {name: Pem(file=str(path)) for name, path in files.items()}
    return ApiAccess("127.0.0.1", 6443, "test", **pems).tls()  # type: ignore[arg-type]  # names of a table


def kafka(**options: object) -> str:
    return str(tls.read(SslConfig(**options), tls.now()).problems)  # type: ignore[arg-type]  # names of a table


def docker(**options: object) -> object:
    return place_of("tcp://127.0.0.1:2376", DockerTlsConfig(**options))  # type: ignore[arg-type]  # names of a table


def marked(path: Path) -> object:
    config = InputConfig(id="a", paths=("x",), file_identity=FileIdentityConfig("inode_marker", marker=str(path)))
    scanned = ScannedFile.from_status(str(path.parent), os.stat(path.parent))
    return name_of_file(config, scanned, lambda offset, length: b"", lambda offset: True)


USES: dict[str, Use] = {
    "a configuration": lambda path, _: read_bytes(path),
    "a keystore": lambda path, _: read_keystore(path),
    "a kubeconfig": lambda path, _: read_kubeconfig(path),
    "tokenFile": lambda path, _: ApiAccess("127.0.0.1", 6443, "test", token_file=str(path)).bearer(),
    "the authorities of an API server": lambda path, _: kubernetes(authorities=path),
    "a certificate for an API server": lambda path, made: kubernetes(certificate=path, key=Path(made.issue()[1])),
    "a key for an API server": lambda path, made: kubernetes(certificate=Path(made.issue()[0]), key=path),
    "the authorities of Docker": lambda path, _: docker(certificate_authority=str(path)),
    "a certificate for Docker": lambda path, made: docker(certificate=str(path), key=Secret(made.issue()[1])),
    "a key for Docker": lambda path, made: docker(certificate=made.issue()[0], key=Secret(str(path))),
    "the authorities of a cloud": lambda path, _: services(
        None, CloudTlsConfig(certificate_authorities=(str(path),)), SystemClock()
    ),
    "the authorities of Kafka": lambda path, _: kafka(certificate_authorities=(str(path),)),
    "a certificate for Kafka": lambda path, made: kafka(certificate=str(path), key=Secret(made.issue()[1])),
    "a key for Kafka": lambda path, made: kafka(certificate=made.issue()[0], key=Secret(str(path))),
    "a passphrase for Kafka": lambda path, made: kafka(
        certificate=made.issue()[0], key=Secret(made.issue(passphrase="x")[1]), key_passphrase_path=str(path)
    ),
    "a marker file": lambda path, _: marked(path),
}
OF_LIBRDKAFKA = ("ssl.key.location", "ssl.ca.location", "ssl.keystore.location", "sasl.kerberos.keytab")


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def a_sparse_file(path: Path) -> None:
    path.touch(0o600)
    os.truncate(path, 2**40)


PIPES: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": a_socket,
}
KINDS: dict[str, Callable[[Path], None]] = {**PIPES, "directory": os.mkdir, "endless": a_sparse_file}


def outcome(use: Callable[[], object]) -> str:
    """Return what a call returned or raised, as a text. It may not wait."""
    seen: list[object] = []

    def call() -> None:
        try:
            seen.append(use())
        except (OSError, StartError, ConfigError, Misplaced) as error:
            seen.append(error)

    thread = Thread(target=call, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert seen, "it waits"
    return str(seen[0])


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_file_that_is_named_has_to_be_a_regular_one_of_a_bounded_size(
    use: Use, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    made = CertificateDirectory(tmp_path)
    for kind, make in KINDS.items():
        with subtests.test(kind):
            path = tmp_path / kind
            make(path)
            text = outcome(partial(use, path, made))
            assert "; use a regular file" in text or "it is larger than 4 MiB" in text
            assert str(path) in text


@pytest.mark.parametrize("make", PIPES.values(), ids=PIPES)
@pytest.mark.parametrize("setting", OF_LIBRDKAFKA)
def test_librdkafka_gets_no_file_that_it_would_wait_for(
    setting: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "named"
    make(path)
    text = outcome(lambda: refusal(Producer, {"security.protocol": "SSL", setting: str(path)}))
    assert text.startswith(f"{setting}: cannot read {path}: it is a ")


@pytest.mark.parametrize("make", [*PIPES.values(), os.mkdir], ids=[*PIPES, "directory"])
@pytest.mark.parametrize("name", ["agent_id", "first_start"])
def test_a_file_of_path_data_that_is_no_plain_one_ends_the_start(
    name: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / name)
    directory = DataDirectory(tmp_path)

    def start() -> None:
        with directory.translating_errors():
            directory.make()
            directory.agent(None)
            directory.first_start(1000.0)

    text = outcome(start)
    is_link = (tmp_path / name).is_symlink()
    problem = "is a symlink to /dev/zero, which a rename would replace" if is_link else "is not a regular file"
    assert text.startswith(f"path.data {tmp_path / name} {problem}. ")


@pytest.mark.parametrize("name", ["agent_id", "first_start"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_in_path_data_is_never_written_through(name: str, tmp_path: Path, *, is_there: bool) -> None:
    (tmp_path / "data").mkdir()
    target = tmp_path / "target"
    if is_there:
        target.write_text("")
    (tmp_path / "data" / name).symlink_to(target)
    directory = DataDirectory(tmp_path / "data")

    def start() -> None:
        with directory.translating_errors():
            directory.agent(None)
            directory.first_start(1000.0)

    reason = "which a rename would replace" if is_there else "which does not exist"
    assert outcome(start).startswith(f"path.data {tmp_path / 'data' / name} is a symlink to {target}, {reason}. ")
    assert (target.read_text() if target.exists() else "") == ""


def test_the_start_of_an_endless_file_in_path_data_is_read(tmp_path: Path) -> None:
    a_sparse_file(tmp_path / "first_start")
    assert DataDirectory(tmp_path).first_start(1000.0) == 1000.0


def test_a_file_that_grows_while_it_is_read_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "named"
    path.write_bytes(b"x" * MAX_BYTES)
    assert len(read_plain(path)) == MAX_BYTES
    with pytest.raises(OSError, match="it is larger than 0 MiB"):
        read_plain(path, 10)


def test_a_kubeconfig_that_is_not_yaml_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "named"
    path.write_text("users:\n- name: a\n  token: [s3cret\n  : }\n")
    text = outcome(lambda: read_kubeconfig(path))
    assert text.startswith(f"kubeconfig {path}: not YAML: see line ")
    assert "s3cret" not in text
