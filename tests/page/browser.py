"""Drives a headless Chromium by its DevTools protocol, over a pipe, so that the standard library is enough.

One page at a time. What the browser says of itself (messages of the console, exceptions, requests) is kept. Requests whose
address ends with a key of `answers` are answered by that entry, and by the server where there is none.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REFUSED = object()  # an answer: nobody listens there
HANG = object()  # an answer: none ever


def find():
    """The browser's program, or None: $ORDERD_CHROMIUM, or the first of the usual names."""
    return shutil.which(os.environ.get("ORDERD_CHROMIUM", "")) or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="orderd-page.")
        to_child, self.out = os.pipe()
        self.inn, from_child = os.pipe()
        # 3 and 4 are the two ends that --remote-debugging-pipe means.
        script = f'exec 3<&{to_child} 4>&{from_child}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "-", program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--hide-scrollbars", f"--user-data-dir={self.profile}", "--remote-debugging-pipe",
             "about:blank"],
            pass_fds=(to_child, from_child), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.number, self.replies = b"", 0, {}
        self.session = None
        self.answers, self.complaints, self.requests = {}, [], []
        self._attach()

    def _attach(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Fetch.enable", patterns=[{"urlPattern": "*"}])

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inn)
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- the protocol: JSON ended by a NUL, both ways ----

    def _send(self, method, params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **params):
        number, end = self._send(method, params), time.monotonic() + 90
        while number not in self.replies:
            self._receive(end)
        reply = self.replies.pop(number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    def _receive(self, end):
        """At least a message, or TimeoutError."""
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.inn], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.inn, 1 << 20)
            if not more:
                raise OSError("the browser has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if "id" in message:
            self.replies[message["id"]] = message
        else:
            self._event(message["method"], message["params"])

    def _event(self, method, p):
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.complaints.append(f"{d['text']} {d.get('exception', {}).get('description', '')}")
        elif method == "Log.entryAdded":
            self.complaints.append(f"{p['entry']['text']} {p['entry'].get('url', '')}")
        elif method == "Fetch.requestPaused":
            self._answer(p["requestId"], p["request"]["url"])

    def _answer(self, request, url):
        self.requests.append(url)
        answer = next((a for key, a in self.answers.items() if url.endswith(key)), None)
        if answer is None:
            self._send("Fetch.continueRequest", {"requestId": request})
        elif answer is HANG:
            pass
        elif answer is REFUSED:
            self._send("Fetch.failRequest", {"requestId": request, "errorReason": "ConnectionRefused"})
        else:
            code, body = answer() if callable(answer) else answer
            body = body if isinstance(body, str) else json.dumps(body)
            self._send("Fetch.fulfillRequest", {"requestId": request, "responseCode": code,
                                                "body": base64.b64encode(body.encode()).decode()})

    # ---- what tests say ----

    def pump(self, seconds):
        """Lets the page go on for so long."""
        end = time.monotonic() + seconds
        try:
            while True:
                self._receive(end)
        except TimeoutError:
            pass

    def show(self, width=1280, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.complaints, self.requests = [], []
        self.call("Page.navigate", url=url)

    def js(self, expression):
        """The value of an expression, which may be a promise, in the page."""
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise RuntimeError(f"{expression}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def wait(self, expression, seconds=60):
        """Until it is true; the page as it then is belongs to the complaint where it never becomes so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.js(f"(() => {{ try {{ return {expression} }} catch {{ return false }} }})()"):
                return
            self.pump(0.05)
        raise AssertionError(f"waited in vain: {expression}\n{self.text('body')}\n{self.complaints}")

    def text(self, selector):
        """What somebody sees there; None: there is no such thing."""
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText")

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})].map((n) => n.innerText)")

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
