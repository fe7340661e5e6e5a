"""Check that the built site loads nothing from another host; MkDocs itself checks its links.

``python -m docs_site.check FOLDER`` exits with 1 and names what is loaded. Links that a reader may
follow to another site are fine; what a page loads by itself (scripts, styles, images, fonts) must
be in the folder.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_AFAR = r"((?:https?:)?//[^\s\"'>)]+)"
IN_PAGE = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|image|use)\b[^>]*?"
    rf"\b(?:src|srcset|poster|data|href)=[\"']?\s*{_AFAR}"
    r"|<link\b(?=[^>]*\brel=[^>]*(?:stylesheet|icon|preload|prefetch|preconnect))"
    rf"[^>]*?\bhref=[\"']?{_AFAR}"
    rf"|<[^>]*\bstyle=[^>]*?url\(\s*[\"']?{_AFAR}"
)
IN_STYLE = re.compile(rf"@import\s+[\"']{_AFAR}|url\(\s*[\"']?{_AFAR}")


def loaded(folder: Path) -> Iterator[str]:
    """Yield a line for everything that a built site loads from another host."""
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".html", ".css", ".svg"):
            text = file.read_text(encoding="utf-8")
            for pattern in (IN_PAGE, *([] if file.suffix == ".html" else [IN_STYLE])):
                for found in pattern.finditer(text):
                    yield f"{file.relative_to(folder)}: loads {found[found.lastindex or 0]}"


def main() -> int:
    found = list(loaded(Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "Nothing is loaded from afar.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
