"""Opens the browser, without showing the page's token to other users of the machine.

Command lines are public (``ps``), so the browser gets the name of a private file, which leads it to
the page; the file is deleted when the page ends.
"""

import html
import os
import shutil
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = "open.html"


@contextmanager
def private_link(url: str) -> Iterator[Path]:
    """Write a file that leads to an address, readable by this user alone, while the context lasts."""
    place = os.environ.get("XDG_RUNTIME_DIR", "")
    within = place if place and os.access(place, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="slowcat-page-", dir=within))  # 0700
    try:
        file = folder / FILE
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(_leading_to(url))
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _leading_to(url: str) -> str:
    safe = html.escape(url, quote=True)
    return (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={safe}"><title>slowcat</title>'
        f'<a href="{safe}">Open the page</a>\n'
    )


def open_browser(file: Path, opener: Callable[[str], bool] = webbrowser.open) -> bool:
    """Open a file in the user's browser; return whether one was found."""
    try:
        return opener(file.as_uri())
    except (OSError, webbrowser.Error):
        return False
