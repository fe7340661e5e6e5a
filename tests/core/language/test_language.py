"""Every language has every table, and another one is a folder."""

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from slowcat_memory.core import language
from slowcat_memory.core.blocks.rules import TONES
from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language, language_of, missing
from slowcat_memory.core.language.data import phrase_list, read_words, word_set
from slowcat_memory.errors import ConfigError
from tests.support.rows import each_row

GERMAN = language_of("german")


FOLDER = Path(language.__file__).parent


@pytest.mark.parametrize("name", ["de", "german", "Deutsch", "deu", "DE", " German ", "deutsch"])
def test_language_of_accepts_code_and_both_names(name: str) -> None:
    assert language_of(name) is GERMAN


@pytest.mark.parametrize("name", ["klingon", "", "none", "e"])
def test_language_of_names_the_languages_that_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match="memory.language: there is no") as error:
        language_of(name)
    assert error.value.hint == "Use one of english (en), german (de)"


@pytest.mark.parametrize("one", LANGUAGES)
def test_missing_finds_nothing_in_a_language_that_is_there(one: Language) -> None:
    assert list(missing(one, ENGLISH)) == []


@pytest.mark.parametrize("one", LANGUAGES)
def test_language_has_the_same_sentences_and_commands(one: Language) -> None:
    assert len(one.dates.months) == 12 and len(one.dates.weekdays) == 7
    assert {rule.kind for rule in one.commands.rules} == {
        rule.kind for rule in ENGLISH.commands.rules
    }
    assert tuple(one.tones) == TONES
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


@each_row("field", [f.name for f in msgspec.structs.fields(Language)])
def test_missing_names_each_field_that_is_left_empty(field: str) -> None:
    value = getattr(GERMAN, field)
    if isinstance(value, msgspec.Struct):  # each of its own fields
        for path, lame in _lacking(value, field):
            assert list(missing(replace(GERMAN, **{field: lame}), ENGLISH)) == [path]
    else:
        empty = replace(GERMAN, **{field: type(value)()})
        assert list(missing(empty, ENGLISH)) == [field]


def _lacking(table: msgspec.Struct, path: str) -> Iterator[tuple[str, msgspec.Struct]]:
    """Yield a table without one of its required fields, for each of them, and what it lacks."""
    for inner in msgspec.structs.fields(type(table)):
        held = getattr(table, inner.name)
        name = f"{path}.{inner.name}"
        if isinstance(held, msgspec.Struct):
            for lacks, lame in _lacking(held, name):
                yield lacks, replace(table, **{inner.name: lame})
        elif inner.required:
            empty = re.compile("") if isinstance(held, re.Pattern) else type(held)()
            yield name, replace(table, **{inner.name: empty})


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


def test_language_read_takes_a_folder_for_a_language(dutch: Path) -> None:
    assert list(missing(read(dutch), ENGLISH)) == []


@pytest.mark.parametrize("table", ["commands", "gate", "time", "orders"])
def test_language_read_names_the_table_that_a_folder_lacks(dutch: Path, table: str) -> None:
    init = dutch / "__init__.py"
    init.write_text(re.sub(rf"    {table}=[\w.]+,\n", "", init.read_text()))
    with pytest.raises(TypeError, match=f"'{table}'"):
        read(dutch)


def edit(file: Path, pattern: str, by: str) -> None:
    """Replace what a pattern finds, once."""
    text, count = re.subn(pattern, by, file.read_text(), flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)


@pytest.mark.parametrize("section", ["commands", "gate", "tones", "summary"])
def test_language_read_names_the_section_of_words_that_a_folder_lacks(
    dutch: Path, section: str
) -> None:
    edit(dutch / "words.toml", rf"^\[{section}\]", "[other]")
    with pytest.raises(KeyError, match=section):
        read(dutch)


@pytest.mark.parametrize("name", ["dates", "blocks", "icebreakers"])
def test_language_read_names_the_sentences_that_a_folder_lacks(dutch: Path, name: str) -> None:
    edit(dutch / "sentences.toml", rf"^\[{name}\]", "[other]")
    with pytest.raises(msgspec.ValidationError, match=name):
        read(dutch)


def test_language_read_names_a_sentence_that_is_empty(dutch: Path) -> None:
    edit(dutch / "sentences.toml", r'^unknown = ".*"', 'unknown = ""')
    with pytest.raises(ValueError, match="dutch: nothing in memory_block.unknown"):
        read(dutch)


def test_language_every_folder_has_the_same_files() -> None:
    names = {path.name for path in (FOLDER / "english").iterdir()} - {"vocabulary.py"}
    for one in LANGUAGES:
        assert {path.name for path in (FOLDER / one.name).iterdir()} >= names
        assert import_module(f"{language.__name__}.{one.name}").LANGUAGE is one


def test_word_set_is_in_lower_case_and_ignores_line_breaks() -> None:
    assert word_set("\nOne two\n  THREE two") == {"one", "two", "three"}


def test_phrase_list_keeps_the_order_and_ignores_line_breaks() -> None:
    assert phrase_list("\nGood day/hello/\n  see\n you/") == ("good day", "hello", "see you")


@pytest.mark.parametrize("language", [one.name for one in LANGUAGES])
def test_read_words_finds_no_empty_list(language: str) -> None:
    sections = read_words(f"slowcat_memory.core.language.{language}")
    assert all(text.strip() for lists in sections.values() for text in lists.values())
