"""Every language has every table, and another one is a folder."""

import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowcat_memory.core import language
from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language
from slowcat_memory.core.language.data import phrase_list
from slowcat_memory.core.language.word_classes import OrderWords

FOLDER = Path(language.__file__).parent
VALUES = re.compile(r"{(\w*)}")


@pytest.mark.parametrize("one", LANGUAGES)
def test_language_has_the_same_tables_sentences_and_commands(one: Language) -> None:
    assert list(missing(one, ENGLISH)) == []
    assert len(one.dates.months) == 12 and len(one.dates.weekdays) == 7
    assert {rule.kind for rule in one.commands.rules} == {
        rule.kind for rule in ENGLISH.commands.rules
    }
    for place, sentence in _sentences(one):
        other = dict(_sentences(ENGLISH))[place]
        assert set(VALUES.findall(sentence)) == set(VALUES.findall(other)), place


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


# Mappings whose keys are words, not names that code looks up.
OF_WORDS = re.compile(
    r"(?:commands|gate|time|names|orders|talk|statements)\.|persons\.evidence|dates\.parts"
)


def missing(table: msgspec.Struct, like: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of required fields and keys that a table lacks.

    Keys are those of the mappings of ``like``, a complete table; ``path`` is that of ``table``.
    """
    for field in msgspec.structs.fields(table):
        value, name = getattr(table, field.name), f"{path}.{field.name}".lstrip(".")
        other = getattr(like, field.name, None)
        if isinstance(value, msgspec.Struct):
            yield from missing(value, other, name)
        elif field.required and not getattr(value, "pattern", value):
            yield name
        elif isinstance(value, dict) and other and not OF_WORDS.match(name):
            yield from (f"{name}[{key!r}]" for key in other if not value.get(key))


def test_language_is_read_from_a_folder_and_what_it_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dutch"  # German words will do
    shutil.copytree(FOLDER / "german", folder)
    file = folder / "sentences.toml"
    file.write_text(re.sub('(?m)^unknown = ".*"', 'unknown = ""', file.read_text()))
    monkeypatch.setattr(language, "__path__", [*language.__path__, str(tmp_path)])
    assert list(missing(language.read(folder.name), ENGLISH)) == ["memory_block.unknown"]


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
