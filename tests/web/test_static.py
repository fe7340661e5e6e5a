"""The page's own files: no way for a text to become markup, nothing from elsewhere, and small."""

import hashlib
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from slowcat_memory.web.page_server import static_files

STATIC = Path(str(files("slowcat_memory.web") / "static"))
PAGE = (STATIC / "index.html").read_text()
ROOT = Path(__file__).parents[2]
OWN = sorted(p for p in STATIC.glob("*") if p.is_file())
VENDOR = {  # as `npm pack` delivers them; a file that was edited has another hash
    "preact/preact.mjs": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
    "htm/htm.module.js": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
}
UNSAFE = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|document\.write|dangerouslySet|eval\(|new Function|"
    r"createContextualFragment|DOMParser|srcdoc|javascript:|setTimeout\(\s*[\"']"
)
ELSEWHERE = re.compile(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|@font-face", re.IGNORECASE)
FIRST_PAINT = ("app.js", "api.js", "parts.js", "know.js", "style.css", "icon.svg",
               "vendor/preact/preact.mjs", "vendor/htm/htm.module.js")  # fmt: skip


@pytest.mark.parametrize("file", OWN, ids=lambda one: one.name)
def test_no_text_can_become_markup_or_code_and_nothing_comes_from_elsewhere(file: Path) -> None:
    text = file.read_text("utf-8")
    assert UNSAFE.findall(text) == []
    assert ELSEWHERE.findall(text.replace("http://www.w3.org/2000/svg", "")) == []


@pytest.mark.parametrize(
    "bad", ["x.innerHTML = text", "eval(text)", "<div dangerouslySetInnerHTML>"]
)
def test_the_search_for_unsafe_code_finds_it(bad: str) -> None:
    assert UNSAFE.search(bad)


def test_the_page_has_no_script_or_style_of_its_own_inside() -> None:
    """The policy would refuse them."""
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\bon[a-z]+=|\bstyle=", PAGE) == []


@pytest.mark.parametrize("name", VENDOR)
def test_vendored_files_are_unmodified_and_licensed(name: str) -> None:
    file = STATIC / "vendor" / name
    assert hashlib.sha256(file.read_bytes()).hexdigest() == VENDOR[name]
    assert (file.parent / "LICENSE").stat().st_size > 500
    assert file.parent.name.lower() in (ROOT / "NOTICE").read_text("utf-8").lower()


def test_no_other_file_is_vendored() -> None:
    folder = STATIC / "vendor"
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert {one for one in found if not one.endswith("LICENSE")} == set(VENDOR)


def test_licences_are_named_where_the_package_is_described() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license"] == "BSD-2-Clause AND MIT AND Apache-2.0"
    assert "NOTICE" in project["license-files"]


def test_the_first_paint_is_small() -> None:
    served = static_files()
    assert len(PAGE) + sum(len(served[name]) for name in FIRST_PAINT) < 80_000
    assert sum(map(len, served.values())) < 120_000


OWN_WORDS = (
    r'>\s*([^<>${}`&=|"]*?[A-Za-z]{2}[^<>${}`"[]*?)\s*(?=<|\$\{)',  # between tags
    r'(?:aria-label|title)="([^"]+)"',
    r'\bt\("([^"]+)"',
    r'^  \w+: "([^"]+)",$',  # tables of words
    r'^  \["\w*", "([^"]+)"(?:, "[^"]+")?\],$',
    r'^  \["\w*", "[^"]+", "([^"]+)"\],$',
)
NAMES = {"slowcat", "ms"}  # the same in every language


def test_every_word_of_the_page_is_there_in_german() -> None:
    table = json.loads((STATIC / "german.json").read_text("utf-8"))
    source = "\n".join(file.read_text("utf-8") for file in STATIC.glob("*.js"))
    found = {word for form in OWN_WORDS for word in re.findall(form, source, re.MULTILINE)}
    assert found - table.keys() - NAMES == set() and len(found) > 150


def test_translations_fill_in_the_same_values() -> None:
    for english, german in json.loads((STATIC / "german.json").read_text("utf-8")).items():
        assert sorted(re.findall(r"{\d}", english)) == sorted(re.findall(r"{\d}", german))
