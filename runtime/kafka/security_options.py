"""Authentication of Kafka clients: SASL by password, OAuth token, AWS or Kerberos. TLS is in `tls`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret

PasswordMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
PASSWORD_MECHANISMS: tuple[PasswordMechanism, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"]
MECHANISMS: tuple[Mechanism, ...] = (*PASSWORD_MECHANISMS, "OAUTHBEARER", "AWS_MSK_IAM")
# librdkafka's format: key=value, separated by commas.
_EXTENSION_NAME = re.compile("[A-Za-z]+")
_EXTENSION_VALUE = re.compile("[!-+\\--~ \t]+")


def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism, ignoring case; "" is PLAIN. Raises ValueError."""
    for mechanism in MECHANISMS:
        if (text or "PLAIN").upper() == mechanism:
            return mechanism
    if text.upper() == "GSSAPI":
        raise ValueError("the section kerberos enables GSSAPI; remove sasl.mechanism")
    raise ValueError(f"{text!r} must be one of: {', '.join(MECHANISMS)}")


def http_address(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        yield "", f"{text!r} must be an address, as in https://login.example.com/oauth2/token"


def extensions(pairs: dict[str, str]) -> Iterator[Finding]:
    for name, value in pairs.items():
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
            yield name, "is not a valid extension name: use only letters, but not 'auth'"
        elif not _EXTENSION_VALUE.fullmatch(value):
            yield name, f"{value!r} must not be empty or contain commas or non-ASCII characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class OauthbearerConfig:
    """A token from an OpenID Connect provider, for the client itself (client credentials)."""

    since: ClassVar = "0.3"
    as_in: ClassVar = "token_endpoint_url: https://login.example.com/oauth2/token"
    token_endpoint_url: str = field(
        metadata={
            "doc": "The token endpoint of the provider.",
            "check": http_address,
            "missing": "set the provider's token endpoint, as in https://login.example.com/oauth2/token",
        }
    )
    client_id: str = field(
        metadata={"doc": "The client id at the provider.", "check": not_blank, "missing": "issued by the provider"}
    )
    client_secret: Secret = field(
        metadata={"doc": "The secret of `client_id`.", "check": not_blank, "missing": "issued by the provider"},
    )
    scope: str = field(default="", metadata={"doc": "The scopes of the token, separated by spaces."})
    extensions: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "doc": "Extensions sent to the broker with the token: `{logicalCluster: lkc-1}`.",
            "check": extensions,
        },
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "PEM files or texts of the CAs to trust at the provider; the system's when empty."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsMskIamConfig:
    """The client's AWS identity, by the usual chain (environment, profile, role of the machine or pod)."""

    since: ClassVar = "0.3"
    as_in: ClassVar = "region: eu-central-1"
    region: str = field(
        metadata={
            "doc": "The AWS region of the cluster.",
            "check": not_blank,
            "missing": "set the region of the cluster, as in eu-central-1",
        }
    )
    profile: str | None = field(
        default=None, metadata={"doc": "A named AWS profile, instead of the default credential chain."}
    )
    role_arn: str | None = field(
        default=None, metadata={"doc": "A role to assume, instead of the default credential chain."}
    )
    role_session_name: str = field(default="shipper", metadata={"doc": "The session name for `role_arn`."})

    def check(self) -> Iterator[Finding]:
        if self.profile and self.role_arn:
            yield "role_arn", "conflicts with profile; set only one of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslConfig:
    mechanism: Annotated[Mechanism, parse_mechanism] = field(
        default="PLAIN",
        metadata={
            "doc": "The SASL mechanism: PLAIN or SCRAM (user name and password), OAUTHBEARER (OpenID Connect token), "
            "or AWS_MSK_IAM (Amazon MSK)."
        },
    )
    oauthbearer: OauthbearerConfig | None = field(default=None)
    aws_msk_iam: AwsMskIamConfig | None = field(default=None)

    def check(self) -> Iterator[Finding]:
        for name, mechanism in (("oauthbearer", "OAUTHBEARER"), ("aws_msk_iam", "AWS_MSK_IAM")):
            given = getattr(self, name) is not None
            if self.mechanism == mechanism and not given:
                yield name, f"missing; mechanism {mechanism} needs it"
            if given and self.mechanism != mechanism:
                yield (
                    name,
                    f"has no effect with mechanism {self.mechanism}; set 'sasl.mechanism: {mechanism}', or remove it",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosConfig:
    """Kerberos: requires a client built with GSSAPI, unlike the wheels on PyPI."""

    enabled: bool = field(default=True, metadata={"doc": "Whether Kerberos is used."})
    auth_type: Literal["password", "keytab"] | None = field(
        default=None, metadata={"doc": "Must be keytab: librdkafka does not support Kerberos passwords."}
    )
    config_path: str | None = field(
        default=None,
        metadata={"doc": "Must be the file that the Kerberos library reads: KRB5_CONFIG, else /etc/krb5.conf."},
    )
    service_name: str = field(default="kafka", metadata={"doc": "The service name in the broker's principal."})
    username: str | None = field(default=None, metadata={"doc": "The principal, without its realm."})
    password: Secret | None = field(default=None, metadata={"doc": "Not supported: use a keytab."})
    keytab: str | None = field(default=None, metadata={"doc": "File with the keys of the principal."})
    realm: str | None = field(
        default=None, metadata={"doc": "The realm of the principal; the Kerberos library's default when absent."}
    )
    enable_krb5_fast: bool = field(
        default=False, metadata={"doc": "Must be false: the Kerberos library negotiates FAST itself."}
    )

    def check(self) -> Iterator[Finding]:
        if not self.enabled:
            return
        if self.auth_type == "password" or self.password:
            yield (
                "auth_type",
                "librdkafka does not support Kerberos passwords; use 'auth_type: keytab', with keytab and username",
            )
            return
        if not self.username:
            yield "username", "missing; Kerberos needs the principal's name"
        if not self.keytab:
            yield "keytab", "missing; Kerberos needs the principal's keytab file"
        if self.enable_krb5_fast:
            yield "enable_krb5_fast", "not supported; the Kerberos library negotiates FAST itself: remove it"

    @property
    def principal(self) -> str:
        return f"{self.username}@{self.realm}" if self.realm else f"{self.username}"


def credentials(
    username: str | None, password: Secret | None, sasl: SaslConfig, kerberos: KerberosConfig | None, *, tls: bool
) -> Iterator[Finding]:
    """Check what `username` and `password` need, and that they have an effect."""
    by_password = sasl.mechanism in PASSWORD_MECHANISMS
    if kerberos is not None and kerberos.enabled:
        if username or not by_password:
            yield "kerberos", "conflicts with username or sasl.mechanism; keep one of them"
        return
    if not by_password:
        if username or password:
            yield "username", f"has no effect with 'sasl.mechanism: {sasl.mechanism}'; remove username and password"
        if sasl.mechanism == "AWS_MSK_IAM" and not tls:
            yield "ssl", "missing; Amazon MSK accepts IAM only over TLS: add 'ssl.enabled: true'"
        return
    yield from password_of_user(username, password)


def unused_mechanism(
    sasl: SaslConfig, username: str | None, raw: Mapping[str, str | int | float | bool]
) -> Iterator[Finding]:
    """Warn of a mechanism without a user; `raw` are librdkafka's own settings."""
    if sasl.mechanism.startswith("SCRAM") and not (username or "sasl.username" in raw):
        yield "sasl.mechanism", "has no effect without username: the client does not authenticate"


def password_of_user(username: str | None, password: Secret | None) -> Iterator[Finding]:
    if username and not password:
        yield "password", "missing; username needs it"
    if password and not username:
        yield "username", "missing; password needs it"
