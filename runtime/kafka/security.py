"""Converts `ssl`, `sasl` and `kerberos` to librdkafka's settings, for the shipper's output and the sink."""

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from confluent_kafka import KafkaException, Producer

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka import tls
from log_shipper.runtime.kafka.security_options import AwsMskIamConfig, KerberosConfig, OauthbearerConfig, SaslConfig
from log_shipper.runtime.kafka.tls_options import SslConfig

# A TLS 1.2 suite for pre-shared keys. The client has none, so it offers no TLS 1.2 suite at all; OpenSSL accepts no
# empty list, and librdkafka has no setting for the versions.
NO_SUITE_OF_TLS_1_2 = "PSK-AES128-GCM-SHA256"
AWS_MODULE = "aws_msk_iam_sasl_signer"
AWS_LIBRARY = "pip install aws-msk-iam-sasl-signer-python"  # the extra aws-msk-iam
NO_KERBEROS = (
    "the installed client lacks Kerberos (GSSAPI), as do all wheels of confluent-kafka; build it with 'pip "
    "install --no-binary confluent-kafka confluent-kafka' and a librdkafka with GSSAPI, or use username and "
    "password, or ssl.certificate"
)


class NoCredentials(Exception):
    """Raised when AWS provides no credentials; the message has the reason, and what to check."""


class Options(Protocol):
    """The security options of a client: of `output.kafka`, and of the sink's `kafka`."""

    @property
    def username(self) -> str | None: ...

    @property
    def password(self) -> Secret | None: ...

    @property
    def sasl(self) -> SaslConfig: ...

    @property
    def ssl(self) -> SslConfig: ...

    @property
    def kerberos(self) -> KerberosConfig | None: ...


class Security:
    """The options as librdkafka's settings. Creating it reads files; `problems` lists errors by option, and without
    problems `settings` is complete. `aws` is set if the client also needs `AwsTokens`.
    """

    def __init__(self, config: Options) -> None:
        self.settings: dict[str, Any] = {}
        self.problems: list[Finding] = []
        self.warnings: list[Finding] = []
        self.aws: AwsMskIamConfig | None = None
        self._sasl(config)
        if config.ssl.enabled:
            self._tls(config.ssl)
        protocol = ("SASL_" if "sasl.mechanism" in self.settings else "") + (
            "SSL" if config.ssl.enabled else "PLAINTEXT"
        )
        self.settings["security.protocol"] = protocol

    def _sasl(self, config: Options) -> None:
        if config.kerberos is not None and config.kerberos.enabled:
            self._kerberos(config.kerberos)
        elif config.sasl.oauthbearer is not None:
            self._oidc(config.sasl.oauthbearer)
        elif config.sasl.aws_msk_iam is not None:
            self._aws(config.sasl.aws_msk_iam)
        elif config.username:
            self.settings["sasl.mechanism"] = config.sasl.mechanism
            self.settings["sasl.username"] = config.username
            self.settings["sasl.password"] = config.password.reveal() if config.password else ""

    def _oidc(self, oauth: OauthbearerConfig) -> None:
        self.settings |= {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": oauth.token_endpoint_url,
            "sasl.oauthbearer.client.id": oauth.client_id,
            "sasl.oauthbearer.client.secret": oauth.client_secret.reveal(),
        }
        if oauth.scope:
            self.settings["sasl.oauthbearer.scope"] = oauth.scope
        if oauth.extensions:
            pairs = (f"{name}={value}" for name, value in oauth.extensions.items())
            self.settings["sasl.oauthbearer.extensions"] = ",".join(pairs)
        if oauth.certificate_authorities:
            option = "sasl.oauthbearer.certificate_authorities"
            files = tls.TlsFiles()
            authorities, _ = tls.read_authorities(oauth.certificate_authorities, option, files, tls.now())
            self.settings["https.ca.pem"] = authorities
            self.problems += files.problems
            self.warnings += files.warnings

    def _aws(self, aws: AwsMskIamConfig) -> None:
        self.settings["sasl.mechanism"] = "OAUTHBEARER"
        self.aws = aws
        if importlib.util.find_spec(AWS_MODULE) is None:
            self.problems.append(
                ("sasl.mechanism", f"AWS_MSK_IAM needs a library that is not installed: {AWS_LIBRARY}")
            )

    def _kerberos(self, kerberos: KerberosConfig) -> None:
        read = os.environ.get("KRB5_CONFIG", "/etc/krb5.conf")
        if not has_kerberos():
            self.problems.append(("kerberos", NO_KERBEROS))
        elif kerberos.config_path not in (None, read):
            self.problems.append(
                (
                    "kerberos.config_path",
                    f"the Kerberos library reads {read}; set KRB5_CONFIG before starting this program",
                )
            )
        elif kerberos.keytab and not os.access(kerberos.keytab, os.R_OK):
            self.problems.append(("kerberos.keytab", f"{kerberos.keytab} cannot be read"))
        self.settings |= {
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": kerberos.service_name,
            "sasl.kerberos.principal": kerberos.principal,
            "sasl.kerberos.keytab": kerberos.keytab or "",
        }

    def _tls(self, ssl: SslConfig) -> None:
        files = tls.read(ssl, tls.now())
        self.problems += [(f"ssl.{option}", message) for option, message in files.problems]
        self.warnings += [(f"ssl.{option}", message) for option, message in files.warnings]
        texts = {
            "ssl.ca.pem": files.authorities,
            "ssl.certificate.pem": files.certificate,
            "ssl.key.pem": files.key,
            "ssl.key.password": files.passphrase,
            "ssl.cipher.suites": NO_SUITE_OF_TLS_1_2 if ssl.only_tls_1_3 else ":".join(ssl.suites),
            "ssl.curves.list": ":".join(ssl.curve_types),
        }
        self.settings |= {name: text for name, text in texts.items() if text}
        if ssl.verification_mode == "none":
            self.settings["enable.ssl.certificate.verification"] = False
        if ssl.verification_mode in ("none", "certificate"):
            self.settings["ssl.endpoint.identification.algorithm"] = "none"


@cache
def has_kerberos() -> bool:
    """Return True if the installed client supports GSSAPI, which only an attempt shows."""
    try:
        Producer({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"})
    except KafkaException:
        return False
    return True


class AwsTokens:
    """Provides tokens to librdkafka, which calls it on its own thread after four fifths of the last token's lifetime
    (15 minutes). Raises ImportError if the library is not installed.
    """

    def __init__(self, aws: AwsMskIamConfig, failed: Callable[[NoCredentials], None] = lambda error: None) -> None:
        """Provide tokens; `failed` is called on the same thread if there is none. librdkafka retries after ten
        seconds."""
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
        from botocore.exceptions import BotoCoreError, ClientError

        self._failed = failed
        self._signer = MSKAuthTokenProvider
        # AttributeError: raised by the library if it finds no credentials at all.
        self._errors = (BotoCoreError, ClientError, ValueError, AttributeError)
        self._aws = aws

    def fetch(self) -> tuple[str, float]:
        """Return a token and its expiry time. Raises NoCredentials."""
        aws = self._aws
        try:
            if aws.role_arn:
                signed = self._signer.generate_auth_token_from_role_arn(aws.region, aws.role_arn, aws.role_session_name)
            elif aws.profile:
                signed = self._signer.generate_auth_token_from_profile(aws.region, aws.profile)
            else:
                signed = self._signer.generate_auth_token(aws.region)
        except self._errors as error:
            reason = "there are none" if isinstance(error, AttributeError) else str(error)
            raise NoCredentials(
                f"AWS provides no credentials: {reason}; check the environment, the profile, or this machine's role"
            ) from error
        return signed[0], signed[1] / 1000

    def __call__(self, config: str) -> tuple[str, float]:
        try:
            return self.fetch()
        except NoCredentials as error:
            self._failed(error)
            raise
