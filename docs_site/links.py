"""Where the site has what the repository has, and the pages that do not lie in ``docs/``.

The repository is read as files, so README.md, ARCHITECTURE.md and the like are at its root and
link to each other by path. The site has them as pages of its own; each link is rewritten.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
    "NOTICE": "notice.md",
    "config.toml": "settings.md",
}
TITLES = {"LICENSE": "Licence", "NOTICE": "Code of others", "config.toml": "Every setting"}
LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s#]+)((?:#[^)\s]*)?\))")


def page_of(path: str) -> str:
    """Return the path in the site of a path in the repository; "" for what the site lacks."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return f"{inside}/README.md" if (ROOT / path).is_dir() else inside
    if path == "examples/README.md":
        return "examples/index.md"
    if path.startswith("examples/") and path.endswith(".py"):
        return path.removesuffix(".py") + ".md"
    return ""


def linked(markdown: str, source: str) -> str:
    """Return the Markdown with each relative link as the site has it.

    Args:
        markdown: The text of a page.
        source: The path of that page in the repository.
    """
    here = posixpath.dirname(page_of(source))

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        page = page_of(target)
        path = posixpath.relpath(page, here or ".") if page else found[2]
        return f"{found[1]}{path}{found[3]}"

    return LINK.sub(link, markdown)


def code_page(title: str, language: str, text: str) -> str:
    return f"# {title}\n\n````{language}\n{text.rstrip()}\n````\n"


def outside_pages() -> dict[str, str]:
    """Return the Markdown of each page that does not lie in ``docs/``, by its path in the site."""
    pages = {}
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        language = Path(name).suffix.removeprefix(".")
        if language == "md":
            pages[page] = linked(text, name)
        else:
            pages[page] = code_page(TITLES[name], language, text)
    for file in sorted((ROOT / "examples").iterdir()):
        path = f"examples/{file.name}"
        text = file.read_text(encoding="utf-8") if file.suffix in {".py", ".md"} else ""
        if file.suffix == ".py":
            pages[page_of(path)] = code_page(file.name, "python", text)
        elif file.suffix == ".md":
            pages[page_of(path)] = linked(text, path)
    return pages
