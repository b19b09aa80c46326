"""Open pages in headless Chromium and look at them, over the pipe of its developer tools."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from matplotlib.image import imread

Scheme = Literal["light", "dark"]

CHROMIUM = shutil.which("chromium")
PHONE, DESK = 390, 1280
_TIMEOUT = 120.0  # seconds without a word from the browser

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="the browser Chromium is not installed, so pages are tested as text only",
)

# What the browser would otherwise ask of the network by itself.
_QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Tab:
    """One tab; commands and events are those of the Chrome DevTools Protocol."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe
        self._unread = b""
        self._n_sent = 0
        self._session: dict[str, str] = {}
        self._events: list[dict[str, Any]] = []
        self._page = ""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def open(self, page: Path, width: int = DESK, scheme: Scheme = "light") -> None:
        """Load a page, and forget what the last one did."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width == PHONE,
        )
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", features=[preferred])
        self._events.clear()
        self._page = page.as_uri()
        self.send("Page.navigate", url=self._page)
        while not self._parameters("Page.loadEventFired"):
            self._events.append(self._read())

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """Whatever the page wrote to the console, and what the browser wrote about it."""
        methods = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [found for method in methods for found in self._parameters(method)]

    @property
    def requests(self) -> list[str]:
        """What the page asked for besides itself and what it holds."""
        urls = [sent["request"]["url"] for sent in self._parameters("Network.requestWillBeSent")]
        return [url for url in urls if url != self._page and not url.startswith("data:")]

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page, which itself may run none."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press and release a key, by its name and the number that Windows has for it."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def picture(self) -> np.ndarray:
        """Return the whole page as an array of colours."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.send(
            "Page.captureScreenshot", captureBeyondViewport=True, clip={**size, "scale": 1}
        )
        return np.asarray(imread(io.BytesIO(base64.b64decode(shot["data"]))))

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Give a command and return its answer; events that come before it are kept."""
        self._n_sent += 1
        message = {"id": self._n_sent, "method": method, "params": parameters, **self._session}
        self._pipe.sendall(json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._n_sent:
            self._events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _parameters(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self._events if event["method"] == method]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            chunk = self._pipe.recv(1 << 20)
            assert chunk, "the browser has gone"
            self._unread += chunk
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextmanager
def chromium(folder: Path) -> Iterator[Tab]:
    """Run Chromium, with everything it writes in a folder."""
    assert CHROMIUM is not None
    ours, theirs = socket.socketpair()
    ours.settimeout(_TIMEOUT)
    command = (CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    folders = ("--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}")
    with ours, theirs:
        program = subprocess.Popen(
            # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
            ["sh", "-c", 'exec "$@" 3<&0 4<&0', "sh", *command, *_QUIET, *folders],
            env={**os.environ, "HOME": str(folder)},
            stdin=theirs.fileno(),
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Tab(ours)
        finally:
            program.kill()
            program.wait()
