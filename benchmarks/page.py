"""How soon the page shows something, and what it reads for that: `python -m benchmarks.page`.

A real Chromium opens the page of a made-up memory, each time in a window that has nothing cached.
Needs the extra `test-page` and the system's Chromium.
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from tests.support.page_memory import Running, page_of
from tests.support.page_store import page_store
from tests.web.conftest import ARGUMENTS, NAMES

SEEN = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
BYTES = "performance.getEntries().reduce((sum, e) => sum + (e.decodedBodySize || 0), 0)"
SHOWN = "performance.now()"


def opened(browser: Any, running: Running) -> tuple[float, float, int]:
    """Return milliseconds to the first paint, to the first facts, and bytes read by then."""
    context = browser.new_context()
    try:
        tab = context.new_page()
        tab.goto(running.server.url())
        tab.wait_for_selector(".card")
        shown = tab.evaluate(SHOWN)
        return tab.evaluate(SEEN) or shown, shown, tab.evaluate(BYTES)
    finally:
        context.close()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--size", type=int, default=100_000)
    asked.add_argument("--times", type=int, default=9)
    given = asked.parse_args()
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        config = page_store(Path(folder) / "memory", given.size)
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        with page_of(config, furnished=False) as running:
            rows = [opened(browser, running) for _ in range(given.times)]
        browser.close()
    paints, shown, sizes = (sorted(column) for column in zip(*rows, strict=True))
    print(f"first paint  ms: median {statistics.median(paints):.0f}, worst {paints[-1]:.0f}")
    print(f"first facts  ms: median {statistics.median(shown):.0f}, worst {shown[-1]:.0f}")
    print(f"read by then kB: {sizes[-1] / 1000:.0f}")


if __name__ == "__main__":
    main()
