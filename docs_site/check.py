"""Check the built site: nothing is loaded from another host, and every link leads somewhere.

``python -m docs_site.check FOLDER`` exits with 1 and names what is wrong. Links that a reader may
follow to another site are fine; what a page loads by itself (scripts, styles, images, fonts) must
be in the folder.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {  # attributes whose target a browser fetches without being asked
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
}
FETCHING_RELS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload"}
IN_STYLE = re.compile(r"@import\s+[\"']([^\"']+)|url\(\s*[\"']?([^\"')]+)")
IN_PICTURE = re.compile(r"<(?:image|use|script)\b[^>]*?\bhref=[\"']([^\"']+)")


class _Page(HTMLParser):
    """Collects what a page loads, where its links lead, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in LOADED.get(tag, ()):
            if name in given:
                self.loaded += [part.split()[0] for part in given[name].split(",") if part.strip()]
        if tag == "link" and FETCHING_RELS & set(given.get("rel", "").split()):
            self.loaded.append(given.get("href", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if style := given.get("style"):
            self.loaded += in_style(style)


def in_style(css: str) -> list[str]:
    """Return what a style sheet loads; data of its own is left out."""
    found = (first or second for first, second in IN_STYLE.findall(css))
    return [target.strip() for target in found if not target.startswith(("data:", "#"))]


def is_foreign(target: str) -> bool:
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme in {"http", "https"}


def wrong(folder: Path) -> Iterator[str]:
    """Yield a line for everything that is wrong with a built site."""
    pages = {file: _Page() for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        page.feed(file.read_text(encoding="utf-8"))
    for file, page in pages.items():
        name = file.relative_to(folder)
        for target in page.loaded:
            if is_foreign(target):
                yield f"{name}: loads {target}"
        for link in page.links:
            if not _leads_somewhere(file, link, pages, folder):
                yield f"{name}: {link} leads nowhere"
    for file in sorted([*folder.rglob("*.css"), *folder.rglob("*.svg")]):
        text = file.read_text(encoding="utf-8")
        for target in [*in_style(text), *IN_PICTURE.findall(text)]:
            if is_foreign(target):
                yield f"{file.relative_to(folder)}: loads {target}"


def _leads_somewhere(file: Path, link: str, pages: dict[Path, _Page], folder: Path) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or file.name == "404.html":
        return True
    path = unquote(parts.path)
    target = (folder / path.lstrip("/") if path.startswith("/") else file.parent / path).resolve()
    target = file if not path else target / "index.html" if target.is_dir() else target
    if not target.exists():
        return False
    known = pages.get(target)
    return not parts.fragment or known is None or unquote(parts.fragment) in known.anchors


def main() -> int:
    found = list(wrong(Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "Every link leads somewhere; nothing is loaded from afar.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
