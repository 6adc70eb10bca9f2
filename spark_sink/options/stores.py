"""`table.options`: the object store of the tables, and its credentials.

The names are deltalake's, which ignores unknown ones: so each is checked. Missing options come from the environment.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping

from log_shipper.config.text.checks import Finding

Options = dict[str, str | int | float | bool]

_ANY = ("certificate_path", "connect_timeout", "max_retries", "proxy_url", "retry_timeout", "timeout")
_S3 = (
    "aws_access_key_id",
    "aws_allow_http",
    "aws_endpoint",
    "aws_metadata_endpoint",
    "aws_region",
    "aws_request_payer",
    "aws_role_arn",
    "aws_role_session_name",
    "aws_secret_access_key",
    "aws_server_side_encryption",
    "aws_session_token",
    "aws_skip_signature",
    "aws_sse_bucket_key_enabled",
    "aws_sse_customer_key_base64",
    "aws_sse_kms_key_id",
    "aws_virtual_hosted_style_request",
    "aws_web_identity_token_file",
)
_AZURE = (
    "azure_allow_http",
    "azure_federated_token_file",
    "azure_msi_endpoint",
    "azure_msi_resource_id",
    "azure_object_id",
    "azure_storage_account_key",
    "azure_storage_account_name",
    "azure_storage_authority_host",
    "azure_storage_client_id",
    "azure_storage_client_secret",
    "azure_storage_endpoint",
    "azure_storage_sas_token",
    "azure_storage_tenant_id",
    "azure_storage_use_emulator",
    "azure_use_azure_cli",
    "azure_use_fabric_endpoint",
)
_GOOGLE = (
    "google_application_credentials",
    "google_base_url",
    "google_service_account",
    "google_service_account_key",
    "google_skip_signature",
)
# Options by the scheme of a path.
NAMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("s3", "s3a"), (*_S3, *_ANY)),
    **dict.fromkeys(("abfs", "abfss", "az"), (*_AZURE, *_ANY)),
    "gs": (*_GOOGLE, *_ANY),
}
# An option with a URL -> the option that allows the URL to be without TLS.
_ENDPOINTS = {"aws_endpoint": "aws_allow_http", "azure_storage_endpoint": "azure_allow_http"}
# Hadoop's names, each with what to set; the rest of them have no exact counterpart.
_OF_HADOOP = {
    "fs.s3a.access.key": "aws_access_key_id",
    "fs.s3a.secret.key": "aws_secret_access_key",
    "fs.s3a.session.token": "aws_session_token",
    "fs.s3a.endpoint": "aws_endpoint",
    "fs.s3a.endpoint.region": "aws_region",
    "fs.s3a.path.style.access": "aws_virtual_hosted_style_request, with the opposite value,",
    "fs.s3a.connection.ssl.enabled": "aws_allow_http, with the opposite value,",
    "fs.azure.account.key.": "azure_storage_account_key",
    "fs.azure.account.oauth2.client.id": "azure_storage_client_id",
    "fs.azure.account.oauth2.client.secret": "azure_storage_client_secret",
    "fs.azure.account.oauth2.client.endpoint": "azure_storage_tenant_id",
    "google.cloud.auth.service.account.json.keyfile": "google_service_account",
    "fs.s3a.": "aws_...",
    "fs.azure.": "azure_...",
    "fs.gs.": "google_...",
}


def mistakes(options: Options, paths: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for each option that the stores of these paths do not support."""
    names = {name for path in paths for name in NAMES.get(path.partition("://")[0].lower(), ())}
    names = names or {name for known in NAMES.values() for name in known}  # if all paths are local
    for option in options:
        if option.lower() not in names:
            yield option, _unknown(option, sorted(names))
    given = {option.lower(): str(value) for option, value in options.items()}
    for endpoint, allowed in _ENDPOINTS.items():
        url = given.get(endpoint, "https://")
        if not url.startswith(("http://", "https://")):
            yield endpoint, f"{url!r} is not a URL: put https:// before it, or http:// without TLS"
        elif url.startswith("http://") and given.get(allowed, "").lower() != "true":
            yield endpoint, f"{url!r} has no TLS: write https://, or set {allowed}: true"


def unused(settings: Iterable[str], options: Options) -> Iterator[Finding]:
    """Yield a finding for each setting of Hadoop's file systems without a replacing option."""
    for setting in settings:
        if (name := _replacement(setting.removeprefix("spark.hadoop."))) is not None:
            store = name.partition("_")[0]
            if not any(option.lower().startswith(store) for option in options):
                yield (
                    "spark",
                    f"{setting} does not apply to the sink's own tables, which Spark does not write: set "
                    f"table.options.{name} too",
                )


def _unknown(option: str, names: list[str]) -> str:
    if (name := _replacement(option)) is not None:
        return f"is a Hadoop name; set {name} instead"
    close = difflib.get_close_matches(option.lower(), names, n=1, cutoff=0.6)
    return f"unknown option; did you mean {close[0]!r}?" if close else f"unknown option; known here: {', '.join(names)}"


def _replacement(name: str) -> str | None:
    beginnings = [beginning for beginning in _OF_HADOOP if name.startswith(beginning)]
    return _OF_HADOOP[max(beginnings, key=len)] if beginnings else None
