"""The options of SASL and Kerberos."""

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka.security_options import KerberosConfig, OauthbearerConfig
from log_shipper.shipper.outputs.kafka import kafka_of
from tests.config_lab import ConfigLab
from tests.tables import rows

KAFKA = "shipper.inputs: [{id: a, paths: [x]}]\noutput.kafka:\n  hosts: [h:1]\n  topic: t\n"
OAUTH = "token_endpoint_url: https://id.example/token, client_id: a, client_secret: hush"


def test_tokens_of_a_provider_are_read(lab: ConfigLab) -> None:
    text = f"  sasl: {{mechanism: oauthbearer, oauthbearer: {{{OAUTH}, scope: a b, extensions: {{x: y}}}}}}\n"
    kafka = kafka_of(lab.load(KAFKA + text))
    assert kafka is not None
    assert kafka.sasl.oauthbearer == OauthbearerConfig(
        token_endpoint_url="https://id.example/token",
        client_id="a",
        client_secret=Secret("hush"),
        scope="a b",
        extensions={"x": "y"},
    )
    assert "hush" not in repr(kafka)


@pytest.mark.parametrize(
    ("line", "where", "message"),
    [
        *rows("""
        sasl.mechanism: OAUTHBEARER -> sasl.oauthbearer -> missing; mechanism OAUTHBEARER needs it
        sasl: {mechanism: AWS_MSK_IAM, aws_msk_iam: {profile: a}}
            -> sasl.aws_msk_iam.region -> missing; set the region of the cluster, as in eu-central-1
        sasl.mechanism: gssapi -> sasl.mechanism -> the section kerberos enables GSSAPI
        kerberos: {username: u, keytab: k, enable_krb5_fast: true} -> kerberos.enable_krb5_fast -> remove it
        kerberos: {auth_type: password, username: u, password: p} -> kerberos.auth_type -> use 'auth_type: keytab'
        kerberos: {keytab: k} -> kerberos.username -> missing; Kerberos needs the principal's name
        kerberos: {username: u} -> kerberos.keytab -> missing; Kerberos needs the principal's keytab file
        """),
        (
            f"sasl.oauthbearer: {{{OAUTH}}}",
            "sasl.oauthbearer",
            "has no effect with mechanism PLAIN; set 'sasl.mechanism:",
        ),
        (
            f"sasl: {{mechanism: OAUTHBEARER, oauthbearer: {{{OAUTH.replace('https://', '')}}}}}",
            "sasl.oauthbearer.token_endpoint_url",
            "'id.example/token' must be an address, as in https://",
        ),
        (
            f"sasl: {{mechanism: OAUTHBEARER, oauthbearer: {{{OAUTH}, extensions: {{a-b: c}}}}}}",
            "sasl.oauthbearer.extensions.a-b",
            "is not a valid extension name",
        ),
        (
            f"sasl: {{mechanism: OAUTHBEARER, oauthbearer: {{{OAUTH}, extensions: {{ab: 'c,d'}}}}}}",
            "sasl.oauthbearer.extensions.ab",
            "must not be empty or contain commas",
        ),
    ],
)
def test_a_mistake_is_named(lab: ConfigLab, line: str, where: str, message: str) -> None:
    (problem,) = lab.problems(f"{KAFKA}  {line}\n")
    assert problem.startswith(f"shipper.yml:5: output.kafka.{where}: ")
    assert message in problem


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (f"sasl: {{mechanism: OAUTHBEARER, oauthbearer: {{{OAUTH}}}}}, username: u, password: p", "remove username"),
        ("sasl: {mechanism: AWS_MSK_IAM, aws_msk_iam.region: eu-central-1}", "Amazon MSK accepts IAM only over TLS"),
        ("kerberos: {username: u, keytab: k}, username: u, password: p", "conflicts with username or sasl.mechanism"),
    ],
)
def test_what_excludes_another_option_is_reported(lab: ConfigLab, more: str, message: str) -> None:
    text = f"shipper.inputs: [{{id: a, paths: [x]}}]\noutput.kafka: {{hosts: h, topic: t, {more}}}\n"
    (problem,) = lab.problems(text)
    assert message in problem


def test_a_mechanism_for_a_user_who_is_not_given_is_noted(lab: ConfigLab) -> None:
    (note,) = lab.load(f"{KAFKA}  sasl.mechanism: SCRAM-SHA-256\n  username: ''\n").notes
    assert "has no effect without username: the client does not authenticate" in note
    assert lab.load(f"{KAFKA}  sasl.mechanism: SCRAM-SHA-256\n  username: u\n  password: p\n").notes == ()


def test_kerberos_that_is_disabled_may_lack_anything(lab: ConfigLab) -> None:
    kafka = kafka_of(lab.load(f"{KAFKA}  kerberos: {{enabled: false, auth_type: password}}\n"))
    assert kafka is not None
    assert kafka.kerberos == KerberosConfig(enabled=False, auth_type="password")


@pytest.mark.parametrize(("realm", "principal"), [("A.EXAMPLE", "web@A.EXAMPLE"), (None, "web")])
def test_a_principal_has_its_realm_where_one_is_given(realm: str | None, principal: str) -> None:
    assert KerberosConfig(username="web", realm=realm).principal == principal
