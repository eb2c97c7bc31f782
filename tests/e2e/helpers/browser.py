"""A headless Chromium, driven through its debugging pipe: no driver and no package needed.

The browser gets a folder of its own and no network: a request to anywhere but a file fails, and is
recorded.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60


def find_browser():
    for name in NAMES:
        if path := shutil.which(name):
            return path
    return None


class Browser:
    """`webgl`: with software that draws for pages that use WebGL."""

    def __init__(self, folder, webgl=False):
        program = find_browser()
        if program is None:
            pytest.skip("no Chromium; on Debian: apt-get install chromium-headless-shell")
        to_browser, self._requests = os.pipe()
        self._answers, from_browser = os.pipe()
        # The protocol takes descriptors 3 and 4.
        become = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", become, "bash", program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
             f"--user-data-dir={folder}", "--host-resolver-rules=MAP * ~NOTFOUND",
             *(("--use-angle=swiftshader", "--enable-unsafe-swiftshader") if webgl else ())],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._rest = b""
        self._session = None
        self.requests = []  # URLs
        self.complaints = []  # of the console, the script and the security policy
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target,
                                   flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def close(self):
        os.write(self._requests, b'{"id": 0, "method": "Browser.close"}\0')
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._requests)
        os.close(self._answers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def open(self, path, width=1280, height=900, dark=False, scripts=True, fragment=""):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self.wait("document.readyState === 'complete'")
        if scripts:  # two frames: sizes are known, and what depends on them is drawn
            self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def value(self, expression):
        """What a JavaScript expression yields, a promise's result included."""
        done = self._call("Runtime.evaluate", expression=expression, awaitPromise=True,
                          returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + PATIENCE_S
        while not self.value(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key,
                       text=key if len(key) == 1 and kind == "keyDown" else "")
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def click(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).click()")
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def screenshot(self, selector=None, height=None):
        """PNG bytes of an element, or of the page from its top, at most `height` pixels."""
        box = self.value(f"(() => {{ const box = document.querySelector({json.dumps(selector)})"
                         ".getBoundingClientRect();"
                         " return [box.x, box.y, box.width, box.height]; })()"
                         if selector else
                         "[0, 0, innerWidth, document.documentElement.scrollHeight]")
        clip = dict(zip(("x", "y", "width", "height"), box, strict=True), scale=1)
        clip["height"] = min(clip["height"], height or clip["height"])
        done = self._call("Page.captureScreenshot", format="png", clip=clip,
                          captureBeyondViewport=True)
        return base64.b64decode(done["data"])

    def _call(self, method, **parameters):
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._requests, json.dumps(request).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._note(message)

    def _read(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE_S)
            assert ready, "the browser does not answer"
            data = os.read(self._answers, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        about = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description"))
        elif message.get("method") == "Log.entryAdded":
            self.complaints.append(about["entry"]["text"])
        elif message.get("method") == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{about['type']}")
