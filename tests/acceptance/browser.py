"""A real browser, driven over its own protocol: what a person sees and does on the pages.

Debian's Chromium, as the tests of the web application use it; nothing is downloaded.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.acceptance.web_server import wait_until
from tests.waiting import WAIT_SECONDS

_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-extensions", "--no-first-run", "--force-prefers-reduced-motion", "--lang=en-US"),
    *("--window-size=1280,800", "--remote-debugging-port=0", "--disable-background-networking"),
)
_ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
_FINDING = """
(selector, name) => {
  const wanted = new RegExp(name);
  const labelled = (e) => {
    const by = e.getAttribute("aria-labelledby");
    const label = by ? document.getElementById(by)?.innerText : e.labels?.[0]?.innerText;
    return e.getAttribute("aria-label") || label || e.innerText || e.placeholder || "";
  };
  const found = [...document.querySelectorAll(selector)].filter(
    (e) => e.getClientRects().length && wanted.test(labelled(e).trim()));
  return found.at(-1) ?? null;
}
"""
_CENTRE = """
(e) => {
  if (!e) return null;
  e.scrollIntoView({ block: "nearest" });
  const r = e.getBoundingClientRect();
  const [x, y] = [r.x + r.width / 2, r.y + r.height / 2];
  const hit = document.elementFromPoint(x, y);  // a click would go there
  return hit && (e.contains(hit) || hit.contains(e)) ? [x, y] : null;
}
"""
BUTTON = "button,a,summary,[role=button],[role=menuitem],[role=option],[role=tab],[role=radio]"
FIELD = "input,textarea,[role=textbox],[role=searchbox],[contenteditable=true]"


class Page:
    """One tab."""

    def __init__(self, connection: ClientConnection, url: str) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._url = url

    def tell(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._connection.recv(timeout=WAIT_SECONDS))
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def value(self, expression: str) -> Any:
        """What an expression gives in the page; None while it is being loaded."""
        done = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        return None if "exceptionDetails" in done else done["result"].get("value")

    def go(self, path: str) -> None:
        """Open an address, and wait until the page that was open is gone."""
        self.value("window.isLeft = true")
        self.tell("Page.navigate", url=f"{self._url}{path}")
        wait_until(lambda: self.value("!window.isLeft && document.readyState === 'complete'"))

    @property
    def path(self) -> str:
        return str(self.value("location.pathname"))

    @property
    def text(self) -> str:
        """What is to be read on the page."""
        return str(self.value("document.body?.innerText") or "")

    def shows(self, *words: str) -> None:
        """Wait until the page has all these words."""
        try:
            wait_until(lambda: all(each in self.text for each in words))
        except TimeoutError:
            raise AssertionError(f"{words} not in: {self.text}") from None

    def has(self, name: str, selector: str = BUTTON) -> bool:
        """Whether there is such a thing now."""
        return bool(self.value(f"!!({_FINDING})({json.dumps(selector)}, {json.dumps(name)})"))

    def find(self, name: str, selector: str = BUTTON) -> None:
        """Wait until there is one."""
        wait_until(lambda: self.has(name, selector))

    def click(self, name: str, selector: str = BUTTON) -> None:
        """Click what has this name (a pattern), once it is there and stands still."""
        last: list[float] | None = None

        def is_still() -> bool:
            nonlocal last
            before, last = last, self._place(name, selector)
            return last is not None and last == before

        wait_until(is_still)
        assert last is not None
        x, y = last
        point = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.tell("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.tell("Input.dispatchMouseEvent", type="mousePressed", **point)
        self.tell("Input.dispatchMouseEvent", type="mouseReleased", **point)

    def fill(self, name: str, text: str, selector: str = FIELD) -> None:
        """Put a text into a field."""
        self.click(name, selector)
        self.value("document.activeElement.select?.()")
        self.tell("Input.insertText", text=text)

    def enter(self) -> None:
        """Press Enter."""
        self.tell("Input.dispatchKeyEvent", type="keyDown", **_ENTER)
        self.tell("Input.dispatchKeyEvent", type="keyUp", **_ENTER)

    def attach(self, *files: Path) -> None:
        """Choose files in the page's chooser."""
        wait_until(lambda: self.value("!!document.querySelector('main input[type=file]')"))
        root = self.tell("DOM.getDocument")["root"]["nodeId"]
        chooser = self.tell("DOM.querySelector", nodeId=root, selector="main input[type=file]")
        paths = [str(each) for each in files]
        self.tell("DOM.setFileInputFiles", nodeId=chooser["nodeId"], files=paths)

    def _place(self, name: str, selector: str) -> list[float] | None:
        found = f"({_FINDING})({json.dumps(selector)}, {json.dumps(name)})"
        return self.value(f"({_CENTRE})({found})")


def exactly(name: str) -> str:
    """The pattern of a whole name."""
    return f"^{re.escape(name)}$"


@contextmanager
def browser(url: str) -> Generator[Page]:
    """A browser with an empty profile, and its page."""
    with tempfile.TemporaryDirectory(prefix="acceptance-", ignore_cleanup_errors=True) as profile:
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        process = subprocess.Popen(
            [program, *_ARGUMENTS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            port_file = Path(profile, "DevToolsActivePort")
            wait_until(lambda: process.poll() is not None or _lines(port_file) >= 2)
            assert process.poll() is None, "the browser has ended"
            port, path = port_file.read_text().splitlines()[:2]
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as whole:
                target = _new_tab(whole)
            with connect(f"ws://127.0.0.1:{port}/devtools/page/{target}", max_size=None) as one:
                yield Page(one, url)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def _new_tab(whole: ClientConnection) -> str:
    ask = {"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}
    whole.send(json.dumps(ask))
    while True:
        answer = json.loads(whole.recv(timeout=WAIT_SECONDS))
        if answer.get("id") == 1:
            return answer["result"]["targetId"]
