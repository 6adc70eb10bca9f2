"""`ssl`, `sasl` and `kerberos` as librdkafka's settings."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka.renewal import never, renewals
from log_shipper.runtime.kafka.security import NO_SUITE_OF_TLS_1_2, AwsTokens, NoCredentials, Security, has_kerberos
from log_shipper.runtime.kafka.security_options import AwsMskIamConfig, KerberosConfig, OauthbearerConfig
from log_shipper.runtime.kafka.tls_options import CertificateReload
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.model import SaslConfig, SslConfig
from tests.certificates import CertificateDirectory
from tests.fakes import ManualClock

OAUTH = OauthbearerConfig(
    token_endpoint_url="https://id.example/token",
    client_id="a",
    client_secret=Secret("b"),
    scope="read write",
    extensions={"logicalCluster": "lkc-1", "identityPoolId": "pool-2"},
)
AWS = AwsMskIamConfig(region="eu-central-1")


def config(**changes: Any) -> KafkaOutputConfig:
    options: dict[str, Any] = {"hosts": ("a:9092",), "topic": "logs", **changes}
    return KafkaOutputConfig(**options)


def settings_of(**changes: Any) -> dict[str, Any]:
    security = Security(config(**changes))
    assert security.problems == []
    return security.settings


def tls(**options: Any) -> dict[str, Any]:
    return settings_of(ssl=SslConfig(enabled=True, **options))


def test_tokens_of_a_provider_are_fetched_by_librdkafka() -> None:
    assert settings_of(sasl=SaslConfig(mechanism="OAUTHBEARER", oauthbearer=OAUTH)) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
        "sasl.oauthbearer.client.id": "a",
        "sasl.oauthbearer.client.secret": "b",
        "sasl.oauthbearer.scope": "read write",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-2",
    }


def test_the_authorities_of_the_provider_are_checked_and_passed_on(tmp_path: Path) -> None:
    authority = CertificateDirectory(tmp_path).authorities()

    def sasl(path: str) -> SaslConfig:
        return SaslConfig(mechanism="OAUTHBEARER", oauthbearer=replace(OAUTH, certificate_authorities=(path,)))

    assert settings_of(sasl=sasl(authority))["https.ca.pem"].strip() == Path(authority).read_text().strip()
    ((option, message),) = Security(config(sasl=sasl("/no/such.pem"))).problems
    assert option == "sasl.oauthbearer.certificate_authorities[0]"
    assert "cannot read /no/such.pem" in message


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ({"supported_protocols": ("TLSv1.3",)}, "ssl.cipher.suites", NO_SUITE_OF_TLS_1_2),
        ({"supported_protocols": ("TLSv1.2", "TLSv1.3")}, "ssl.cipher.suites", None),
        ({"cipher_suites": ("AES128-SHA", "AES256-SHA")}, "ssl.cipher.suites", "AES128-SHA:AES256-SHA"),
        ({"curve_types": ("P-384", "X25519MLKEM768")}, "ssl.curves.list", "P-384:X25519MLKEM768"),
    ],
)
def test_versions_suites_and_curves_are_passed_on(options: dict[str, Any], name: str, value: str | None) -> None:
    assert tls(**options).get(name) == value


def test_a_certificate_is_passed_on_as_the_text_that_was_checked(tmp_path: Path) -> None:
    certificate, key = CertificateDirectory(tmp_path).issue(passphrase="open")
    made = tls(certificate=certificate, key=Secret(key), key_passphrase=Secret("open"))
    assert made["ssl.certificate.pem"].strip() == Path(certificate).read_text().strip()
    assert made["ssl.key.pem"].strip() == Path(key).read_text().strip()
    assert made["ssl.key.password"] == "open"


@pytest.mark.skipif(has_kerberos(), reason="the installed client is built with Kerberos")
def test_kerberos_is_refused_where_the_client_is_built_without_it() -> None:
    security = Security(config(kerberos=KerberosConfig(username="web", realm="A.B", keytab="/k")))
    ((option, message),) = security.problems
    assert option == "kerberos"
    assert "pip install --no-binary confluent-kafka" in message
    assert security.settings == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal": "web@A.B",
        "sasl.kerberos.keytab": "/k",
    }


def test_kerberos_that_is_disabled_changes_nothing() -> None:
    assert settings_of(kerberos=KerberosConfig(enabled=False)) == {"security.protocol": "PLAINTEXT"}


def in_aws(code: str, **variables: str) -> str:
    """Run a program with these variables and no other credentials of AWS; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none", **variables}
    environment |= {"AWS_SHARED_CREDENTIALS_FILE": "/none", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", f"from tests.unit.runtime.kafka.test_security import *\n{code}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def print_aws_token() -> None:
    try:
        token, ends = AwsTokens(AWS).fetch()
        print(len(token) > 100, 800 < ends - time.time() <= 900)  # noqa: T201
    except NoCredentials as error:
        print(error)  # noqa: T201


def test_a_token_for_amazon_msk_is_signed_with_the_credentials_of_the_environment() -> None:
    printed = in_aws("print_aws_token()", AWS_ACCESS_KEY_ID="AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY="example")
    assert printed == "True True\n"


def test_missing_credentials_of_aws_are_reported() -> None:
    assert "AWS provides no credentials: there are none; check the environment" in in_aws("print_aws_token()")


def test_the_library_for_amazon_msk_is_asked_for_where_it_is_missing() -> None:
    code = """
sys.modules['aws_msk_iam_sasl_signer'] = None  # as if it were not installed
sasl = SaslConfig(mechanism='AWS_MSK_IAM', aws_msk_iam=AWS)
print(Security(config(ssl=SslConfig(enabled=True), sasl=sasl)).problems)
"""
    printed = in_aws(code)
    assert "'sasl.mechanism'" in printed
    assert "pip install aws-msk-iam-sasl-signer-python" in printed


@pytest.mark.parametrize(
    ("ssl", "watched"),
    [
        (SslConfig(enabled=True, certificate_authorities=("/ca",)), True),
        (SslConfig(enabled=False, certificate_authorities=("/ca",)), False),
        (SslConfig(enabled=True), False),
        (
            SslConfig(
                enabled=True, certificate_authorities=("/ca",), certificate_reload=CertificateReload(enabled=False)
            ),
            False,
        ),
    ],
)
def test_files_of_tls_are_watched_where_there_are_some(ssl: SslConfig, watched: bool, clock: ManualClock) -> None:
    assert (renewals(config(ssl=ssl), clock, "output.kafka") is not never) is watched
