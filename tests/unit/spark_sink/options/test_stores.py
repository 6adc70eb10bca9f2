from pathlib import Path

import pytest

from log_shipper import config
from log_shipper.config.export import export
from log_shipper.config.text.secrets import MASK
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.stores import NAMES
from tests.config_lab import ConfigLab

S3 = "kafka: {hosts: [a:1], topics: [logs]}\ntable.path: s3a://lake/logs\ncheckpoint.path: s3a://lake/checkpoint\n"


def test_options_are_as_the_library_takes_them(lab: ConfigLab) -> None:
    options = (
        "table.options: {aws_region: eu-central-1, aws_allow_http: true, MAX_RETRIES: 3, aws_session_token: '${T}'}"
    )
    loaded = lab.load(S3 + options, SinkConfig, env={"T": "s3cret"})
    assert loaded.storage_options == {
        "aws_region": "eu-central-1",
        "aws_allow_http": "true",
        "max_retries": "3",
        "aws_session_token": "s3cret",
    }
    assert "s3cret" not in repr(loaded)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{aws_regoin: x}", "table.options.aws_regoin: unknown option; did you mean 'aws_region'?"),
        ("{region: x}", "table.options.region: unknown option; did you mean 'aws_region'?"),
        ("{fs.s3a.secret.key: x}", "table.options.fs.s3a.secret.key: is a Hadoop name; set aws_secret_access_key"),
        (
            "{fs.s3a.connection.ssl.enabled: false}",
            "is a Hadoop name; set aws_allow_http, with the opposite value, instead",
        ),
        ("{fs.s3a.fast.upload: x}", "table.options.fs.s3a.fast.upload: is a Hadoop name; set aws_... instead"),
        ("{azure_storage_account_key: x}", "table.options.azure_storage_account_key: unknown option; "),
        (
            "{aws_endpoint: 'http://minio:9000'}",
            "aws_endpoint: 'http://minio:9000' has no TLS: write https://, or set aws_allow_http",
        ),
        ("{aws_endpoint: 'minio:9000', aws_allow_http: true}", "table.options.aws_endpoint: 'minio:9000' is not a URL"),
        ("{aws_region: [a]}", "table.options.aws_region: must be a single value"),
    ],
)
def test_an_option_that_the_library_would_ignore_is_a_mistake(lab: ConfigLab, options: str, message: str) -> None:
    (problem,) = lab.problems(f"{S3}table.options: {options}", SinkConfig)
    assert message in problem


AZURE = "\ntable.options: {azure_storage_account_key: x}\n"


@pytest.mark.parametrize(
    "path", ["table.path: abfss://lake@account.dfs.core.windows.net/logs", "state.path: az://lake/m"]
)
def test_the_options_are_those_of_any_path(lab: ConfigLab, path: str) -> None:
    table = "" if path.startswith("table") else "table.path: /data/logs\n"
    whole = (
        S3.replace("table.path: s3a://lake/logs\n", table).replace("s3a://lake/checkpoint", "/data/checkpoint") + path
    )
    lab.load(whole + AZURE, SinkConfig)
    assert lab.problems(whole + AZURE.replace("azure_storage_account_key", "aws_region"), SinkConfig)


def test_on_a_disk_the_options_of_all_stores_may_stay(lab: ConfigLab) -> None:
    lab.load(S3.replace("s3a://lake", "/data") + AZURE, SinkConfig)


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        ("spark.hadoop.fs.s3a.access.key", "aws_access_key_id"),
        ("spark.hadoop.fs.s3a.connection.maximum", "aws_..."),
        ("spark.hadoop.fs.s3a.path.style.access", "aws_virtual_hosted_style_request, with the opposite value,"),
        ("spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net", "azure_storage_account_key"),
    ],
)
def test_a_setting_of_hadoops_file_systems_is_named_with_its_option(lab: ConfigLab, setting: str, option: str) -> None:
    (warning,) = lab.load(f"{S3}{setting}: x", SinkConfig).warnings
    assert f"{setting} does not apply to the sink's own tables" in warning
    assert f"set table.options.{option} too" in warning


def test_settings_of_hadoops_file_systems_may_stay_beside_options(lab: ConfigLab) -> None:
    beside = "spark.hadoop.fs.s3a.access.key: x\ntable.options.aws_region: x\n"
    assert lab.load(S3 + beside, SinkConfig).warnings == ()


SECRETS = [
    "aws_secret_access_key",
    "aws_session_token",
    "aws_sse_customer_key_base64",
    "azure_storage_account_key",
    "azure_storage_client_secret",
    "azure_storage_sas_token",
    "google_service_account_key",
]


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_hidden(lab: ConfigLab, name: str) -> None:
    scheme = {"aws": "s3", "azure": "az", "google": "gs"}[name.partition("_")[0]]
    lab.load(S3.replace("s3a:", f"{scheme}:") + f"table.options.{name}: s3cret\n", SinkConfig)
    assert f"{name}: {MASK}" in export([lab.file], SinkConfig, (), {})


def test_the_page_has_all_options() -> None:
    page = (Path(config.__file__).parents[1] / "docs" / "guides" / "object-stores.md").read_text()
    assert {name for names in NAMES.values() for name in names if f"`{name}`" not in page} == set()
