"""Every language has every table, and another one is a folder."""

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from slowcat_memory.core import language
from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language
from slowcat_memory.core.language.data import phrase_list, read_words
from slowcat_memory.core.language.word_classes import OrderWords

FOLDER = Path(language.__file__).parent


@pytest.mark.parametrize("one", LANGUAGES)
def test_language_has_the_same_sentences_and_commands(one: Language) -> None:
    assert len(one.dates.months) == 12 and len(one.dates.weekdays) == 7
    assert {rule.kind for rule in one.commands.rules} == {
        rule.kind for rule in ENGLISH.commands.rules
    }
    for place, sentence in _sentences(one):
        other = dict(_sentences(ENGLISH))[place]
        assert sorted(set(_values(sentence))) == sorted(set(_values(other))), place


def _values(sentence: str) -> list[str]:
    return re.findall(r"{(\w*)}", sentence)


def _sentences(one: Language) -> Iterator[tuple[str, str]]:
    """Yield what has values to be filled in, with its place."""
    for table in ("replies", "dates", "memory_block", "preamble", "blocks", "icebreakers"):
        value = getattr(one, table)
        entries = value if isinstance(value, dict) else msgspec.structs.asdict(value)
        for name, entry in entries.items():
            if isinstance(entry, dict):
                yield from ((f"{table}.{name}.{key}", text) for key, text in entry.items())
            elif isinstance(entry, str):
                yield f"{table}.{name}", entry


# ------------------------------------------------------------------- a third language


@pytest.fixture
def dutch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for a third language, beside the others; German words will do."""
    folder = tmp_path / "dutch"
    shutil.copytree(FOLDER / "german", folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "__init__.py").read_text()
    text = text.replace("core.language.german", "core.language.dutch").replace(
        '"german"', '"dutch"'
    )
    (folder / "__init__.py").write_text(text)
    monkeypatch.setattr(language, "__path__", [*language.__path__, str(tmp_path)])
    yield folder
    for name in [name for name in sys.modules if ".language.dutch" in name]:
        del sys.modules[name]
    read_words.cache_clear()


def read(folder: Path) -> Language:
    return language.read(folder.name)


def edit(file: Path, pattern: str, by: str) -> None:
    """Replace what a pattern finds, once."""
    text, count = re.subn(pattern, by, file.read_text(), flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)


def test_language_read_names_a_sentence_that_is_empty(dutch: Path) -> None:
    edit(dutch / "sentences.toml", r'^unknown = ".*"', 'unknown = ""')
    with pytest.raises(ValueError, match="dutch: nothing in memory_block.unknown"):
        read(dutch)


def test_language_every_folder_has_the_same_files() -> None:
    names = {path.name for path in (FOLDER / "english").iterdir()} - {"vocabulary.py"}
    for one in LANGUAGES:
        assert {path.name for path in (FOLDER / one.name).iterdir()} >= names
        assert import_module(f"{language.__name__}.{one.name}").LANGUAGE is one


def test_phrase_list_keeps_the_order_and_ignores_line_breaks() -> None:
    assert phrase_list("\nGood day/hello/\n  see\n you/") == ("good day", "hello", "see you")


# ------------------------------------------------------------------- the tables of orders: every pattern compiles, and means what its classes say

TABLE = OrderWords(
    classes={
        "comma": ",",
        "colon": ":",
        "joins": "and",
        "you": "you",
        "must": "must",
        "act": "act",
    },
    groups={"duty": "must/you act"},
    signals={"2": ["duty act"], "-1": ["^ act $"]},
    content="act",
)


def matches(pattern: str, *names: str) -> bool:
    table = OrderWords(
        classes=TABLE.classes, groups=TABLE.groups, signals={"1": [pattern]}, content="act"
    )
    codes = "".join(table.code_of.get(name, "x") for name in names)
    return bool(table.compile(pattern).search(codes))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_order_words_every_signal_compiles(language) -> None:
    assert language.orders.compiled and language.orders.needed


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_order_words_no_class_is_without_a_word_of_its_own(language) -> None:
    table = language.orders
    owned = {table.class_of(word) for word in table.codes}
    assert {name for name in table.classes if name not in owned} == set()


def test_order_words_patterns() -> None:
    assert matches("you must", "you", "must") and not matches("you must", "you", "act")
    assert matches("you|must act", "must", "act")
    assert matches("duty act", "you", "act", "act"), "a group's alternative of two words"
    assert matches("you act? must", "you", "must")
    assert matches("you .. act", "you", "-", "-", "-", "act")
    assert not matches("you .. act", "you", "-", "-", "-", "-", "act")
    assert not matches("you .. act", "you", "comma", "act"), "another clause"
    assert matches("^ act", "you", "comma", "act") and not matches("^ act", "you", "act")
    assert not matches("you !act", "you", "act") and matches("you !act", "you", "must")


def test_order_words_an_unknown_class_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        matches("you nothing", "you")
