"""The documentation as a site: which pages it has, how their links are rewritten, its check."""

import re
from pathlib import Path

import pytest

from docs_site.check import wrong
from docs_site.links import linked, outside_pages

ROOT = Path(__file__).parent.parent
NAV = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]


def test_site_the_menu_has_every_page() -> None:
    own = {page.name for page in (ROOT / "docs").glob("*.md")}
    outside = {page for page in outside_pages() if "/" not in page}
    assert set(re.findall(r": ([\w-]+\.md)$", NAV, re.M)) == own | outside


@pytest.mark.parametrize(
    ("source", "link", "becomes"),
    [
        ("README.md", "docs/start.md#1-install", "start.md#1-install"),
        ("README.md", "ARCHITECTURE.md", "architecture.md"),
        ("docs/start.md", "../examples/minimal_bot.py", "examples/minimal_bot.md"),
        ("docs/decisions/0001-one-turn-is-one-chunk.md", "../../README.md", "../index.md"),
        ("ARCHITECTURE.md", "docs/decisions", "decisions/README.md"),
        ("README.md", "https://pytorch.org/", "https://pytorch.org/"),
        ("docs/start.md", "#1-install", "#1-install"),
    ],
)
def test_site_links_lead_to_pages_of_the_site(source: str, link: str, becomes: str) -> None:
    assert linked(f"[x]({link})", source) == f"[x]({becomes})"


PAGE = '<h1 id="top">x</h1><a href="other.html#part">y</a><img src="a.png">'


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (PAGE, []),
        ('<script src="https://cdn.example/x.js"></script>', ["loads https://cdn.example/x.js"]),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', ["loads //fonts.example/a.css"]),
        ('<p style="background: url(http://x.example/a.png)">', ["loads http://x.example/a.png"]),
        ('<a href="gone.html">', ["gone.html leads nowhere"]),
        ('<a href="other.html#gone">', ["other.html#gone leads nowhere"]),
        ('<a href="https://example.org/">to read on</a>', []),
    ],
)
def test_site_what_a_page_loads_and_links_to_is_checked(
    page: str, found: list[str], tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "other.html").write_text('<h2 id="part">z</h2>')
    (tmp_path / "picture.svg").write_text('<svg><image href="https://cdn.example/c.png"/></svg>')
    (tmp_path / "style.css").write_text("@import url(https://cdn.example/b.css); p {color: red}")
    assert list(wrong(tmp_path)) == [
        *(f"index.html: {one}" for one in found),
        "picture.svg: loads https://cdn.example/c.png",
        "style.css: loads https://cdn.example/b.css",
    ]
