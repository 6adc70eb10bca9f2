"""The credentials for S3 that deltalake finds by itself, as docs/guides/object-stores.md promises.

A server answers as AWS, and notes which key a request to the store was signed with."""

import json
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from log_shipper.spark_sink.storage.locations import Location

pytestmark = pytest.mark.slow("a process each: the environment counts as it is at its start")

LATER = "2126-11-21T09:30:00Z"
ROLE = {"AccessKeyId": "role", "SecretAccessKey": "s", "Token": "t", "Expiration": LATER, "Code": "Success"}
ASSUMED = """<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{0}Result><Credentials>
<AccessKeyId>{0}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>{1}</Expiration></Credentials></{0}Result></{0}Response>"""
SDK = {"AWS_FORCE_CREDENTIAL_LOAD": "true"}  # as without an endpoint of one's own


class Aws(BaseHTTPRequestHandler):
    keys: list[str]

    def do_PUT(self) -> None:
        self._answer("token of the metadata service")

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        action = re.search(r"Action=(\w+)", asked + self.path)
        self._answer(ASSUMED.format(action[1] if action else "", LATER))

    def do_GET(self) -> None:
        if signed := re.search(r"Credential=(\w+)", self.headers.get("Authorization", "")):
            self.keys.append(signed[1])
            self._answer("", 404)
        elif self.path.endswith("/security-credentials/"):
            self._answer("instance")
        else:
            self._answer(json.dumps(ROLE))

    def _answer(self, text: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-aws-ec2-metadata-token-ttl-seconds", "60")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def aws() -> Iterator[str]:
    Aws.keys = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Aws) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def keys_used(aws: str, environment: Mapping[str, str], options: Mapping[str, str]) -> set[str]:
    place = Location(
        "s3://bucket/lines", {"aws_endpoint": aws, "aws_allow_http": "true", "max_retries": "0", **options}
    )
    script = "import pickle, sys; pickle.load(sys.stdin.buffer).files().get_file_info('x')"
    others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps(place),
        env={**others, "AWS_REGION": "eu-central-1", **environment},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return set(Aws.keys)


KEYS = {"AWS_ACCESS_KEY_ID": "environment", "AWS_SECRET_ACCESS_KEY": "s"}
IDENTITY = {"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/sink", "AWS_ROLE_SESSION_NAME": "sink"}


def test_keys_of_the_options_come_before_those_of_the_environment(aws: str) -> None:
    options = {"aws_access_key_id": "options", "aws_secret_access_key": "s"}
    assert keys_used(aws, KEYS, options) == {"options"}
    assert keys_used(aws, KEYS | SDK, options) == {"options"}


def test_keys_of_the_environment_count(aws: str) -> None:
    assert keys_used(aws, KEYS, {}) == {"environment"}


def test_a_profile_counts(aws: str, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[lake]\naws_access_key_id = profile\naws_secret_access_key = s\n")
    environment = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "lake"}
    assert keys_used(aws, environment | SDK, {}) == {"profile"}


def test_web_identity_counts(aws: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a token of Kubernetes")
    environment = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token), "AWS_ENDPOINT_URL_STS": aws}
    assert keys_used(aws, environment | IDENTITY | SDK, {}) == {"AssumeRoleWithWebIdentity"}


def test_another_role_is_assumed(aws: str) -> None:
    environment = {"AWS_IAM_ROLE_ARN": IDENTITY["AWS_ROLE_ARN"], "AWS_ENDPOINT_URL_STS": aws}
    assert keys_used(aws, environment | KEYS | SDK, {}) == {"AssumeRole"}


@pytest.mark.parametrize("sdk", [{}, SDK], ids=["with an endpoint", "at AWS"])
def test_the_role_of_a_container_counts(aws: str, tmp_path: Path, sdk: dict[str, str]) -> None:
    token = tmp_path / "token"
    token.write_text("a token of the container")
    environment = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{aws}/role",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token),
    }
    assert keys_used(aws, environment | sdk, {}) == {"role"}


def test_the_role_of_an_instance_counts(aws: str) -> None:
    assert keys_used(aws, {}, {"aws_metadata_endpoint": aws}) == {"role"}
    Aws.keys.clear()
    assert keys_used(aws, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": aws} | SDK, {}) == {"role"}
