"""What `test config` and `test output` find wrong with what the output names outside of the configuration."""

import errno
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from log_shipper.shipper.cli.checks import print_step
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.outputs.file import FileOutputConfig
from tests.certificates import CertificateDirectory

CONFIG = """\
shipper.inputs:
  - {{type: filestream, id: app, paths: [/var/log/app.log]}}
path.data: {data}
output.kafka:
  hosts: [h:1]
  topic: t
"""


class OutputCheckLab:
    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.certificates = CertificateDirectory(directory)
        self._config = directory / "shipper.yml"
        self._capsys = capsys
        self._data = directory / "data"

    def test(self, options: str, command: Sequence[str] = ("test", "config")) -> tuple[int, list[str]]:
        """Return the exit code, and the lines that are printed, without the directory."""
        self._config.write_text(CONFIG.format(data=self._data) + options)
        self._config.chmod(0o600)
        code = main([*command, "-c", str(self._config)])
        printed = self._capsys.readouterr()
        return code, (printed.out + printed.err).replace(f"{self._config.parent}/", "").splitlines()


@pytest.fixture
def lab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> OutputCheckLab:
    return OutputCheckLab(tmp_path, capsys)


def test_all_problems_of_the_certificates_have_their_lines(lab: OutputCheckLab) -> None:
    certificate, _ = lab.certificates.issue()
    _, key = lab.certificates.issue("other", passphrase="open")
    ssl = f"  ssl:\n    certificate_authorities:\n      - /no/ca.pem\n    certificate: {certificate}\n    key: {key}\n"
    code, lines = lab.test(f"{ssl}    key_passphrase: shut\n")
    assert code == 1
    assert lines == [
        "shipper.yml:9: output.kafka.ssl.certificate_authorities[0]: cannot read /no/ca.pem: No such file or directory",
        "shipper.yml:12: output.kafka.ssl.key_passphrase: wrong passphrase for other.key, or the file is damaged",
    ]


def test_good_certificates_are_ok_and_an_expired_one_is_a_warning(lab: OutputCheckLab) -> None:
    authority, (certificate, key) = lab.certificates.authorities(), lab.certificates.issue()
    ssl = f"  ssl: {{certificate_authorities: {authority}, certificate: {certificate}, key: {key}}}\n"
    assert lab.test(ssl) == (0, ["Config OK"])
    lab.certificates.issue(ends=datetime.now(UTC) - timedelta(days=1))
    code, (note, ok) = lab.test(ssl)
    assert (code, ok) == (0, "Config OK")
    assert note.startswith("warning: shipper.yml:7: output.kafka.ssl.certificate: client.pem")
    assert "expired on" in note
    assert lab.test(ssl, ("test", "config", "--strict"))[0] == 1


@pytest.mark.parametrize(
    ("options", "where", "message"),
    [
        ("  librdkafka: {acks: 1}\n", "output.kafka.librdkafka.acks", "1 could lose or reorder lines"),
        ("  librdkafka: {no.such: 1}\n", "output.kafka.librdkafka", 'No such configuration property: "no.such"'),
        (
            "  librdkafka: {sasl.mechanism: GSSAPI, security.protocol: sasl_plaintext}\n",
            "output.kafka.librdkafka",
            "the installed client lacks Kerberos (GSSAPI)",
        ),
        (
            "  librdkafka: {sasl.mechanisms: OAUTHBEARER, security.protocol: sasl_ssl, ssl.curves.list: x}\n",
            "output.kafka.librdkafka",
            "ssl.curves.list failed",
        ),
    ],
)
def test_what_the_client_would_refuse_at_the_start_is_reported(
    options: str, where: str, message: str, lab: OutputCheckLab
) -> None:
    code, (line,) = lab.test(options)
    assert code == 1
    assert line.startswith(f"shipper.yml:7: {where}: ")
    assert message in line


@pytest.mark.parametrize(
    "options",
    [
        "  ssl: {supported_protocols: [TLSv1.3], curve_types: [X25519MLKEM768, P-521]}\n",
        "  ssl: {cipher_suites: [ECDHE-RSA-AES-128-GCM-SHA256, RSA-AES-256-CBC-SHA]}\n",
        "  ssl.enabled: true\n  sasl: {mechanism: AWS_MSK_IAM, aws_msk_iam.region: eu-central-1}\n",
        "  username: u\n  password: p\n  sasl.mechanism: SCRAM-SHA-256\n",
    ],
)
def test_what_the_client_can_do_is_ok(options: str, lab: OutputCheckLab) -> None:
    assert lab.test(options) == (0, ["Config OK"])


def test_no_token_is_requested_for_the_test_of_a_configuration(lab: OutputCheckLab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as provider:
        url = f"http://127.0.0.1:{provider.getsockname()[1]}/token"
        oauth = f"{{token_endpoint_url: '{url}', client_id: a, client_secret: b}}"
        assert lab.test(f"  sasl: {{mechanism: OAUTHBEARER, oauthbearer: {oauth}}}\n") == (0, ["Config OK"])
        provider.settimeout(0.3)
        with pytest.raises(TimeoutError):
            provider.accept()


def test_the_registry_is_shown_whatever_is_wrong_with_the_certificates(lab: OutputCheckLab) -> None:
    code, lines = lab.test("  ssl: {certificate_authorities: [/no/ca.pem]}\n", ("registry", "list"))
    assert not any("/no/ca.pem" in line for line in lines), (code, lines)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "No space left on device: free some space"),
        (errno.EDQUOT, "Disk quota exceeded: raise the quota of the shipper's user"),
        (errno.EROFS, "Read-only file system: mount it writable"),
        (errno.EIO, "Input/output error: free some space, make it writable"),
    ],
)
def test_a_directory_that_takes_no_bytes_is_reported_with_what_to_do(
    code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(descriptor: int) -> None:
        assert os.fstat(descriptor).st_size >= 4096
        raise OSError(code, os.strerror(code))

    assert not FileOutputConfig(path=str(tmp_path)).try_out(print_step, refuse)
    printed = capsys.readouterr().out
    assert printed.startswith(f"file: {tmp_path}/shipper can be written... ERROR {words}")
    assert printed.endswith(", or set another output.file.path\n")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_the_test_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shipper").write_text("one\n")
    for directory in (tmp_path, tmp_path / "made" / "later"):
        assert FileOutputConfig(path=str(directory)).try_out(print_step)
    assert [path.name for path in tmp_path.iterdir()] == ["shipper"]
    assert (tmp_path / "shipper").read_text() == "one\n"
    assert capsys.readouterr().out.count("... OK\n") == 2


def test_a_file_that_the_start_would_refuse_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/no/disk")
    (tmp_path / "shipper").mkdir()
    for name in ("file", "link/below", "."):
        assert not FileOutputConfig(path=f"{tmp_path}/{name}").try_out(print_step)
    lines = capsys.readouterr().out.splitlines()
    for line, words in zip(
        lines,
        ["file is a file, but must be a directory", "is a symlink to /no/disk, which", "is not a regular file"],
        strict=True,
    ):
        assert words in line
