"""A real Chromium without a window, driven by its DevTools protocol: one WebSocket, one request after the other."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PROGRAM = shutil.which("chromium")
START_SECONDS = 30.0
ANSWER_SECONDS = 20.0
POLL_SECONDS = 0.05
MAX_BYTES = 64 * 1024 * 1024  # bytes of an answer: a picture
FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-port=0"),
    *(("--no-sandbox",) if os.geteuid() == 0 else ()),
)

Json = dict[str, Any]


class Tab:
    """One page of the browser. Everything blocks until the browser has answered."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.events: list[Json] = []
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Json:
        """Return the result of a method of the protocol."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message: Json = json.loads(self._socket.recv(ANSWER_SECONDS))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            self.events.append(message)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, as JSON has it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def await_true(self, expression: str, seconds: float = ANSWER_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"{expression} is not true after {seconds:.0f} s"
            time.sleep(POLL_SECONDS)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.await_true("document.readyState === 'complete'")

    def resize(self, width: int, height: int, *, is_phone: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )

    def prefer(self, **features: str) -> None:
        """Set what the user prefers: color_scheme="dark", reduced_motion="reduce"."""
        named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=named)

    def press_tab(self) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Save a picture of the page, or of what is seen of it."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def accessible(self) -> list[Json]:
        """Return what a screen reader is given: role and name of each node that is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            {"role": node["role"]["value"], "name": node.get("name", {}).get("value", "")}
            for node in nodes
            if not node["ignored"]
        ]

    def complaints(self) -> list[str]:
        """Return what the console has: errors, warnings, violations of the policy, and failed requests."""
        self.evaluate("0")  # what happened before has been reported then
        texts = []
        for event in self.events:
            params = event.get("params", {})
            match event.get("method"):
                case "Log.entryAdded":
                    texts.append(f"{params['entry']['text']} ({params['entry'].get('url', '')})")
                case "Runtime.exceptionThrown":
                    texts.append(json.dumps(params["exceptionDetails"]))
                case "Runtime.consoleAPICalled":
                    texts.append(json.dumps(params["args"]))
        return texts

    def requested(self) -> set[str]:
        """Return the URLs that were asked for."""
        self.evaluate("0")
        return {
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        }


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """Run a browser with a new profile in this directory."""
    assert PROGRAM is not None, "script/browser installs it"
    command = [PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with (profile.parent / "chromium.log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            with connect(_page_address(profile, process), max_size=MAX_BYTES, compression=None) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            process.wait(ANSWER_SECONDS)


def _page_address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the WebSocket of the first page."""
    file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + START_SECONDS
    while not file.exists() or len(file.read_text().splitlines()) < 2:
        assert process.poll() is None, f"the browser ended with code {process.returncode}"
        assert time.monotonic() < deadline, "the browser did not start"
        time.sleep(POLL_SECONDS)
    port, path = file.read_text().splitlines()[:2]
    with connect(f"ws://127.0.0.1:{port}{path}", compression=None) as browser:
        browser.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
        while "id" not in (answer := json.loads(browser.recv(START_SECONDS))):
            pass
    target = next(info["targetId"] for info in answer["result"]["targetInfos"] if info["type"] == "page")
    return f"ws://127.0.0.1:{port}/devtools/page/{target}"
