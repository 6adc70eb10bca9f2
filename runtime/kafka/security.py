"""`ssl`, `sasl` and `kerberos` -> librdkafka's settings, for the shipper's output and for the sink."""

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

# A suite of TLS 1.2 for keys that both sides were given beforehand. The client has none, so it offers no suite of
# TLS 1.2 at all; OpenSSL takes no empty list, and librdkafka has no setting for the versions.
NO_SUITE_OF_TLS_1_2 = "PSK-AES128-GCM-SHA256"
AWS_MODULE = "aws_msk_iam_sasl_signer"
AWS_LIBRARY = "pip install aws-msk-iam-sasl-signer-python"  # the extra aws-msk-iam
NO_KERBEROS = (
    "the installed client is built without Kerberos (GSSAPI), as all wheels of confluent-kafka are; build it with "
    "'pip install --no-binary confluent-kafka confluent-kafka' beside a librdkafka that has it, or use username and "
    "password, or ssl.certificate"
)


class NoCredentials(Exception):
    """Raised when AWS gives no credentials; the message has why, and what to check."""


class Options(Protocol):
    """The options of a client that concern its security: those of `output.kafka`, and of the sink's `kafka`."""

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
    """What the options mean to librdkafka. Files are read when it is made; `problems` has what is wrong, with the
    option, and without problems `settings` is complete. `aws` is set where the client needs `AwsTokens` besides."""

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
                ("sasl.mechanism", f"AWS_MSK_IAM needs a library that is not installed; install it: {AWS_LIBRARY}")
            )

    def _kerberos(self, kerberos: KerberosConfig) -> None:
        read = os.environ.get("KRB5_CONFIG", "/etc/krb5.conf")
        if not has_kerberos():
            self.problems.append(("kerberos", NO_KERBEROS))
        elif kerberos.config_path not in (None, read):
            self.problems.append(
                ("kerberos.config_path", f"the Kerberos library reads {read}; start this program with KRB5_CONFIG set")
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
    """True if the installed client is built with GSSAPI; librdkafka has no question for it that is not an attempt."""
    try:
        Producer({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"})
    except KafkaException:
        return False
    return True


class AwsTokens:
    """What librdkafka calls for a token, from a thread of its own, when four fifths of the last one's time (15 minutes)
    have passed. Raises ImportError where the library is not installed."""

    def __init__(self, aws: AwsMskIamConfig, failed: Callable[[NoCredentials], None] = lambda error: None) -> None:
        """`failed` is called, in the same thread, when there is no token; librdkafka asks again in ten seconds."""
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
        from botocore.exceptions import BotoCoreError, ClientError

        self._failed = failed
        self._signer = MSKAuthTokenProvider
        # AttributeError: what the library raises where no credentials are found at all.
        self._errors = (BotoCoreError, ClientError, ValueError, AttributeError)
        self._aws = aws

    def fetch(self) -> tuple[str, float]:
        """Return a token and when it expires. Raises NoCredentials."""
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
                f"AWS gives no credentials: {reason}; check the environment, the profile, or the role of this machine"
            ) from error
        return signed[0], signed[1] / 1000

    def __call__(self, config: str) -> tuple[str, float]:
        try:
            return self.fetch()
        except NoCredentials as error:
            self._failed(error)
            raise
