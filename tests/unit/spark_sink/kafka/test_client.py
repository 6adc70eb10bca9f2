"""What the sink's clients are made of, and that it can travel to an executor."""

import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka.security_options import AwsMskIamConfig, OauthbearerConfig, SaslConfig
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.client import ClientOptions, admin, client_options, consumer, latest
from log_shipper.spark_sink.options.kafka import KafkaSource
from tests.certificates import CertificateDirectory
from tests.fakes import ManualClock

ROOT = Path(__file__).parents[4]
AWS = AwsMskIamConfig(region="eu-central-1")
OAUTH = OauthbearerConfig(token_endpoint_url="https://id.example/token", client_id="a", client_secret=Secret("s3cret"))


def source(**more: Any) -> KafkaSource:
    return KafkaSource(hosts=("127.0.0.1:1",), topics=("logs",), **more)


def settings(**more: Any) -> dict[str, Any]:
    return dict(client_options(source(**more)).settings)


def test_the_options_travel_with_texts_in_place_of_files_and_hide_secrets(tmp_path: Path) -> None:
    certificates = CertificateDirectory(tmp_path)
    certificate, key = certificates.issue()
    ssl = SslConfig(
        enabled=True, certificate=certificate, key=Secret(key), certificate_authorities=(certificates.authorities(),)
    )
    options = client_options(source(ssl=ssl, username="me", password=Secret("s3cret")))
    shipped = pickle.loads(pickle.dumps(options))
    assert shipped == options
    assert {options: "kept"}[shipped] == "kept"
    made = dict(shipped.settings)
    assert made["security.protocol"] == "SASL_SSL"
    assert made["ssl.key.pem"].strip() == Path(key).read_text().strip()
    assert str(tmp_path) not in repr(made)
    assert "s3cret" not in repr(options)
    assert "PRIVATE" not in repr(options)


def test_a_consumer_is_made_of_options_that_have_travelled() -> None:
    shipped = pickle.loads(pickle.dumps(client_options(source(username="me", password=Secret("pw")))))
    made = consumer(shipped)
    assert made.assignment() == []
    made.close()


def test_an_executor_needs_the_client_and_nothing_else_that_is_compiled() -> None:
    """PyYAML, RE2, orjson and cryptography are not among what the executors' environment must have."""
    code = "import sys, log_shipper.spark_sink.kafka.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {"re2", "orjson", "cryptography", "yaml"}.isdisjoint(done.stdout.split())


def test_committed_records_are_read_unless_the_user_wants_all() -> None:
    assert client_options(source()).isolation == "read_committed"
    every = client_options(source(librdkafka={"isolation.level": "read_uncommitted"}))
    assert every.isolation == "read_uncommitted"


def test_raw_settings_win_over_ours() -> None:
    assert settings(librdkafka={"client.rack": "a", "security.protocol": "SSL"}) == {
        "bootstrap.servers": "127.0.0.1:1",
        "client.id": "spark-sink",
        "security.protocol": "SSL",
        "client.rack": "a",
    }


def test_a_raw_setting_of_producers_is_refused_at_the_start() -> None:
    refused = source(librdkafka={"compression.type": "lz4", "fetch.min.bytes": 10})
    with pytest.raises(SinkError) as error:
        latest(refused)
    (line,) = str(error.value).splitlines()
    assert line.startswith("kafka.librdkafka: Configuration property compression.codec is a producer property")
    assert line.endswith(": remove it")
    assert latest(source(librdkafka={"fetch.min.bytes": 10}))().servers == "127.0.0.1:1"


@pytest.mark.parametrize("make", [consumer, admin])
def test_a_setting_that_librdkafka_refuses_is_reported(make: Any) -> None:
    options = client_options(source(librdkafka={"security.protocol": "nonsense"}))
    with pytest.raises(SinkError, match=r"librdkafka rejects these settings: .*nonsense"):
        make(options)


def test_tokens_of_a_provider_are_fetched_by_the_client_on_the_executor() -> None:
    made = settings(sasl=SaslConfig(mechanism="OAUTHBEARER", oauthbearer=OAUTH))
    assert made["sasl.oauthbearer.method"] == "oidc"
    assert made["sasl.oauthbearer.client.secret"] == "s3cret"


def test_what_signs_in_to_aws_is_made_where_the_client_is() -> None:
    sasl = SaslConfig(mechanism="AWS_MSK_IAM", aws_msk_iam=AWS)
    options = client_options(source(sasl=sasl, ssl=SslConfig(enabled=True)))
    assert pickle.loads(pickle.dumps(options)).aws == AWS
    assert "oauth_cb" not in dict(options.settings)


def test_files_that_cannot_be_used_are_named_with_their_option() -> None:
    with pytest.raises(SinkError, match=r"^kafka\.ssl\.certificate_authorities\[0\]: cannot read /none\.pem: "):
        client_options(source(ssl=SslConfig(enabled=True, certificate_authorities=("/none.pem",))))


def test_a_certificate_that_expires_soon_is_logged_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    soon = datetime.now(UTC) + timedelta(days=3)
    certificate, key = CertificateDirectory(tmp_path).issue(ends=soon)
    latest(source(ssl=SslConfig(enabled=True, certificate=certificate, key=Secret(key))))
    assert "kafka.ssl.certificate: " in caplog.text
    assert "renew it" in caplog.text


def test_renewed_certificates_are_in_the_options_and_damaged_ones_are_not(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    authorities = CertificateDirectory(tmp_path).authorities()
    options = latest(source(ssl=SslConfig(enabled=True, certificate_authorities=(authorities,))), clock)
    first = options()
    assert options() is first

    def looked_twice() -> ClientOptions:
        clock.advance(10)  # seen to change, and then to rest
        options()
        clock.advance(10)
        return options()

    CertificateDirectory(tmp_path).authorities()
    second = looked_twice()
    assert second != first
    Path(authorities).write_text("half of")
    assert looked_twice() == second
    assert "kafka.ssl.certificate_authorities[0]" in caplog.text
    assert "remain in use" in caplog.text
