"""A real browser for tests of the page, and what was wrong in it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.page_memory import Running

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox: it needs rights that containers lack, and the page is our own.
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENT_MS = 30_000


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("there is no Chromium (Debian, Ubuntu: apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Visit:
    """One window on a page.

    Attributes:
        tab: Playwright's page.
        faults: What the browser complained of: errors, warnings, refused resources.
    """

    def __init__(self, tab: Any, running: Running) -> None:
        self.tab, self.faults = tab, list[str]()
        self._base = f"http://127.0.0.1:{running.server.guard.port}/"
        tab.set_default_timeout(PATIENT_MS)
        tab.on("console", self._heard)
        tab.on("pageerror", lambda error: self.faults.append(str(error)))
        tab.on("requestfailed", self._failed)
        tab.goto(running.server.url())
        self.settled()

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def _failed(self, request: Any) -> None:
        if "/api/events" not in request.url:  # ends with its window
            self.faults.append(f"{request.url} {request.failure}")

    def view(self, name: str) -> None:
        """Open a view, and wait until it has read what it shows."""
        self.tab.goto(f"{self._base}#{name}")
        view = name.partition("?")[0]
        self.tab.wait_for_selector(f"nav a[href='#{view}'][aria-current]")
        self.settled()

    def settled(self) -> None:
        self.tab.wait_for_selector("main h1")
        self.tab.wait_for_selector(".wait", state="detached")

    def width(self) -> int:
        return self.tab.evaluate("document.documentElement.scrollWidth")


@pytest.fixture
def visit(chromium: Any) -> Iterator[Any]:
    """Return a function that opens a window on a running page; all close at the end."""
    contexts = []

    def opened(running: Running, **how: Any) -> Visit:
        contexts.append(chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **how}))
        return Visit(contexts[-1].new_page(), running)

    yield opened
    for one in contexts:
        one.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which `make test-page` fetches."""
    file = os.environ.get("SLOWCAT_AXE", "")
    if not file:
        pytest.fail("SLOWCAT_AXE names no axe.min.js: `make test-page` fetches it")
    return Path(file).read_text("utf-8")
