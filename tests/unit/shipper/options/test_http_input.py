"""The options of `type: http`, and of Filebeat's `http_endpoint`."""

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.inputs.http.options import HttpInputConfig
from tests.config_lab import ConfigLab, narrowed

FILEBEAT = """\
filebeat.inputs:
- type: http_endpoint
  enabled: true
  listen_address: 192.168.1.1
  listen_port: "8080"
  url: /hook
  prefix: "."
  content_type: ""
  ssl.certificate: /etc/server.pem
  ssl.key: /etc/server.key
  basic_auth: true
  username: ann
  password: s3cret
  secret.header: X-Secret
  secret.value: t0ken
  hmac.header: X-Hub-Signature-256
  hmac.key: password123
  hmac.type: sha256
  hmac.prefix: "sha256="
  include_headers: ["TestHeader"]
  preserve_original_event: true
  response_code: 202
  response_body: '{"message": "taken"}'
  options_headers:
    Custom-Header: [a, b]
  options_response_code: 204
  max_in_flight_bytes: 104857600
  high_water_in_flight_bytes: 52428800
  low_water_in_flight_bytes: 41943040
  max_body_bytes: 1048576
  retry_after: 5
  tracer.enabled: true
  tracer.filename: trace-*.ndjson
  tags: [hook]
output.console.pretty: false
"""
HTTP = "shipper.inputs: [{type: http, id: web, %s}]\noutput.console.pretty: false\n"


def read(lab: ConfigLab, options: str) -> HttpInputConfig:
    return narrowed(HttpInputConfig, lab.load(HTTP % options).inputs[0])


def test_an_input_of_filebeat_is_read_with_all_its_options(lab: ConfigLab) -> None:
    config = lab.load(FILEBEAT)
    item = narrowed(HttpInputConfig, config.inputs[0])
    assert (item.type, item.listen_address, item.listen_port) == ("http_endpoint", "192.168.1.1", 8080)
    assert (item.url, item.prefix, item.content_type) == ("/hook", ".", ("",))
    assert (item.ssl.is_on, item.secret.value, item.hmac.prefix) == (True, Secret("t0ken"), "sha256=")
    assert item.options_headers == {"Custom-Header": ["a", "b"]}
    assert (item.response_code, item.retry_after, item.max_body_bytes) == (202, 5, 1048576)
    assert (item.high_water, item.low_water) == (52428800, 41943040)
    assert any("tracer" in note for note in config.notes)


def test_without_options_it_is_as_in_filebeat_but_takes_ndjson_and_is_bounded(lab: ConfigLab) -> None:
    item = narrowed(
        HttpInputConfig, lab.load("shipper.inputs: [{type: http}]\noutput.console.pretty: false\n").inputs[0]
    )
    assert (item.listen_address, item.listen_port, item.url, item.prefix) == ("127.0.0.1", 8000, "/", "json")
    assert item.content_type == ("application/json", "application/x-ndjson")
    assert (item.max_body_bytes, item.max_in_flight_bytes, item.high_water) == (10 * 2**20, 64 * 2**20, 32 * 2**20)
    assert item.low_water == 32 * 2**20 * 4 // 5
    assert item.id.startswith("http-")
    assert not item.ssl.is_on


def test_types_of_bodies_may_be_a_list(lab: ConfigLab) -> None:
    assert read(lab, "content_type: text/plain").content_type == ("text/plain",)
    assert read(lab, "content_type: [text/plain, application/json]").content_type == ("text/plain", "application/json")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("basic_auth: true, username: a", "password: missing; basic_auth needs it"),
        ("basic_auth: true, username: a, password: b, bearer_token: c", "bearer_token: conflicts with basic_auth"),
        ("secret.header: X-A", "secret.value: missing; a secret header needs both"),
        ("secret.value: a", "secret.header: missing; a secret header needs both"),
        ("hmac.header: X-A", "hmac.key: missing; a signature needs both"),
        ("hmac.key: a", "hmac.header: missing; a signature needs both"),
        ("hmac: {header: 'X A', key: b}", "hmac.header: 'X A' is not a header name"),
        ("url: logs", "url: 'logs' must be a URL path such as /logs"),
        ("url: '/a?b=c'", "url: '/a?b=c' must be a URL path"),
        ("prefix: a..b", "prefix: 'a..b' must be a dotted field name"),
        ("prefix: ''", "prefix: is empty"),
        ("include_headers: ['a b']", "include_headers[0]: 'a b' is not a header name"),
        ("response_body: 'ok'", "response_body: must be JSON"),
        ("response_code: 302", "response_code: must be at most 299"),
        ('options_headers: {X-A: "a\\nb"}', "options_headers.X-A: must be the value of a header"),
        ("listen_port: 65536", "listen_port: must be at most 65535"),
        ("max_body_bytes: 100MiB", "max_body_bytes: must be at most max_in_flight_bytes (67108864)"),
        ("high_water_in_flight_bytes: 64MiB", "high_water_in_flight_bytes: must be less than max_in_flight_bytes"),
        ("low_water_in_flight_bytes: 33MiB", "low_water_in_flight_bytes: must be less than high_water_in_flight_bytes"),
        ("program: 'obj.records'", "program: not supported; there is no Common Expression Language"),
        ("crc.provider: zoom", "crc: not supported; webhook challenges are not answered"),
    ],
)
def test_a_mistake_is_reported_with_what_would_be_right(lab: ConfigLab, options: str, problem: str) -> None:
    problems = lab.problems(HTTP % options)
    assert any(problem in line for line in problems), problems


def test_a_header_with_a_secret_in_every_event_is_noted(lab: ConfigLab) -> None:
    config = lab.load(HTTP % "include_headers: [authorization, X-A], secret: {header: X-a, value: b}")
    assert len([note for note in config.notes if "contains a secret, which would be in every event" in note]) == 2


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ("listen_address: 0.0.0.0", True),
        ("listen_address: 127.0.0.1", False),
        ("listen_address: 0.0.0.0, bearer_token: a", False),
        ("listen_address: 0.0.0.0, ssl: {certificate: a, key: b}", False),
    ],
)
def test_an_address_that_everyone_reaches_is_warned_of_without_a_secret(
    lab: ConfigLab, options: str, *, warned: bool
) -> None:
    warnings = lab.load(HTTP % options).warnings
    assert any("any program that can reach this address can send events" in line for line in warnings) == warned


def test_secrets_are_not_shown() -> None:
    secrets = HttpInputConfig(id="a", password=Secret("s3cret"), bearer_token=Secret("s3cret"))
    assert "s3cret" not in repr(secrets)
