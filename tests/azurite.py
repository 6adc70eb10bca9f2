"""Microsoft's emulator of Azure's blobs, in a process of its own. `script/tools --all` fetches it."""

import hmac
import os
import shutil
import socket
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

from tests.e2e.running import await_true

_CACHE = Path(os.environ.get("SHIPPER_CACHE", Path(__file__).parents[1] / ".cache"))
PROGRAM = _CACHE / "tools" / "node_modules" / ".bin" / "azurite-blob"
ACCOUNT = "devstoreaccount1"
# Not a secret: all emulators have it.
KEY = b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
VARIABLE = "AZURITE_BLOB_STORAGE_URL"  # where clients look for it


class Azurite:
    options: Mapping[str, str] = {"azure_storage_use_emulator": "true"}

    def __enter__(self) -> Self:
        if not PROGRAM.exists() or shutil.which("node") is None:
            pytest.skip("no azurite: run script/tools --all where npm is there")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        quiet = ("--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence")
        self._process = subprocess.Popen([PROGRAM, *quiet, "--blobPort", str(port)], stdout=subprocess.DEVNULL)
        os.environ[VARIABLE] = self._url = f"http://127.0.0.1:{port}"
        await_true(self._answers, "azurite answers")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.environ.pop(VARIABLE)
        with self._process:
            self._process.kill()

    def create_bucket(self) -> str:
        """Create a container, and return its URI."""
        name, now = f"lake-{uuid4().hex}", f"{datetime.now(UTC):%a, %d %b %Y %H:%M:%S GMT}"
        headers = {"x-ms-date": now, "x-ms-version": "2021-08-06", "Content-Length": "0"}
        signed = f"PUT{12 * chr(10)}x-ms-date:{now}\nx-ms-version:{headers['x-ms-version']}\n"
        signed += f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signature = b64encode(hmac.digest(KEY, signed.encode(), "sha256")).decode()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
        url = f"{self._url}/{ACCOUNT}/{name}?restype=container"
        urlopen(Request(url, headers=headers, method="PUT"), timeout=30).close()
        return f"az://{name}"

    def _answers(self) -> bool:
        try:
            urlopen(self._url, timeout=5).close()
        except URLError as error:
            return hasattr(error, "code")
        return True
