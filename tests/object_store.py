"""A bucket of S3 for tests: moto's, in a process of its own. What it is asked to do wrong, it does (`fail`)."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.request import Request, urlopen
from uuid import uuid4

ROOT = Path(__file__).parent.parent
# "unavailable": 503; "dropped": neither done nor answered; "answer lost": done, and not answered; "hangs": dropped some
# seconds later; "unconditional": done also where an object exists that must not.
Fault = Literal["unavailable", "dropped", "answer lost", "hangs", "unconditional"]


class ObjectStore:
    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.moto_server"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.endpoint = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            self._process.kill()

    @property
    def options(self) -> Mapping[str, str]:
        """What a configuration has as `table.options`."""
        return {
            "aws_endpoint": self.endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
            "aws_region": "eu-central-1",
        }

    @property
    def google_options(self) -> Mapping[str, str]:
        """The same for the bucket as gs://, as far as S3 is like Google's store."""
        account = {"gcs_base_url": self.endpoint, "disable_oauth": True}
        account |= dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        return {"google_service_account_key": json.dumps(account)}

    def create_bucket(self, scheme: str = "s3") -> str:
        """Create a bucket, end the fault of an earlier test, and return the bucket's URI."""
        self._ask("PUT", "/_fault", b"{}")
        name = f"lake{uuid4().hex}"
        place = b"<CreateBucketConfiguration><LocationConstraint>eu-central-1</LocationConstraint>"
        self._ask("PUT", f"/{name}", place + b"</CreateBucketConfiguration>")
        return f"{scheme}://{name}"

    def fail(self, fault: Fault, requests: str, times: int = 1, skip: int = 0) -> None:
        """Let the next requests fail that match a regular expression (PUT /bucket/name), after `skip` of them. It takes
        the place of an earlier fault."""
        rule = {"fault": fault, "requests": requests, "times": times, "skip": skip}
        self._ask("PUT", "/_fault", json.dumps(rule).encode())

    def requests(self) -> list[str]:
        """Return the requests since the last call, as PUT /bucket/name?query."""
        requests: list[str] = json.loads(self._ask("GET", "/_requests"))
        return requests

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        with urlopen(Request(self.endpoint + path, body, method=method), timeout=30) as answer:
            content: bytes = answer.read()
            return content
