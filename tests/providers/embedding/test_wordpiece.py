import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.local import open_tokenizer
from slowcat_memory.providers.embedding.wordpiece import WordPiece

# Categories in which characters are still added to Unicode, and the library's tables are old.
GROWING = {"Mn", "Mc", "Cf", "Po", "Ps", "Pe", "Pd", "So"}
TEXTS = [
    "",
    " ",
    "What's my sister's dog called? She's two-and-a-half!",
    "Straße, naïve café, ŒUVRE, İstanbul, ΟΔΥΣΣΕΥΣ",
    "我住在里斯本 and 東京タワー, 서울, ไทย, हिन्दी, العَرَبِيَّة",
    "[CLS] are [SEP]arate [MASK][UNK] [cls] [PAD",
    "a\tb\nc\rd\x0be\x1cf\x85g\xa0h\u200bi\u3000j\ufffdk\x00l",
    "unbelievablyantidisestablishmentarianism pneumonoultramicroscopic",
    "x" * 100 + " " + "y" * 101,
    "😀👍🏽 e\u0301 \u0301 1,234.56€ C++ #tag @you https://a.b/c?d=e_f",
]


@pytest.fixture(scope="session")
def path(export_folder: Path) -> Path:
    return export_folder / export_format.TOKENIZER


@pytest.fixture(scope="session")
def both(path: Path) -> tuple[WordPiece, Any]:
    ours, library = WordPiece.load(path), Tokenizer.from_file(str(path))
    assert ours
    library.no_padding()
    library.no_truncation()
    return ours, library


@pytest.mark.parametrize("text", TEXTS)
def test_wordpiece_has_the_ids_of_the_library(both: tuple[WordPiece, Any], text: str) -> None:
    ours, library = both
    for special in (True, False):
        expected = library.encode(text, add_special_tokens=special)
        found = ours.encode(text, add_special_tokens=special)
        assert found.ids == expected.ids
        assert len(found.offsets) == len(expected.offsets)
        assert [*found.offsets] == expected.offsets


def settled(character: str) -> bool:
    return unicodedata.category(character) not in GROWING or ord(character) < 0x2E43


@given(st.text(st.characters(exclude_categories=["Cs"]).filter(settled)))
def test_wordpiece_has_the_ids_of_the_library_for_any_text(
    both: tuple[WordPiece, Any], text: str
) -> None:
    ours, library = both
    old = all(settled(part) for part in unicodedata.normalize("NFD", text))
    if old and not any(0x590 <= ord(character) < 0x2000 for character in text):
        assert ours.encode(text).ids == library.encode(text).ids


@pytest.mark.slow
def test_wordpiece_differs_for_new_characters_only(both: tuple[WordPiece, Any]) -> None:
    ours, library = both
    characters = [chr(code) for code in range(sys.maxunicode) if not 0xD800 <= code < 0xE000]
    seen: set[str] = set()
    for start in range(0, len(characters), 500):  # a word each: first together, then one by one
        several = characters[start : start + 500]
        text = " ".join(f"a{character}b" for character in several)
        if ours.encode(text).ids != library.encode(text).ids:
            words = [f"a{character}b {character}" for character in several]
            pairs = zip(several, words, strict=True)
            seen |= {c for c, word in pairs if ours.encode(word).ids != library.encode(word).ids}
    assert len(seen) < 1500 and {unicodedata.category(character) for character in seen} <= GROWING
    everyday = [chr(code) for code in range(0x590)] + [chr(code) for code in range(0x1E00, 0x2E00)]
    assert not seen & (set(everyday) - set("\u1df6\u1df7\u1df8\u1df9\u1dfa\u1dfb"))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("normalizer",), None),
        (("normalizer", "clean_text"), False),
        (("pre_tokenizer", "type"), "Whitespace"),
        (("model", "type"), "BPE"),
        (("added_tokens", 0, "normalized"), True),
        (("post_processor", "type"), "RobertaProcessing"),
        (("model", "unk_token"), "no such token"),
    ],
)
def test_wordpiece_leaves_another_kind_to_the_library(
    path: Path, tmp_path: Path, where: tuple[Any, ...], value: object
) -> None:
    file = json.loads(path.read_bytes())
    place = file
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    assert WordPiece.load(tmp_path / "tokenizer.json") is None


def test_wordpiece_any_other_tokenizer_is_opened_by_the_library(tmp_path: Path) -> None:
    from tokenizers.models import WordLevel

    other = Tokenizer(WordLevel({"tea": 3, "[UNK]": 0}, unk_token="[UNK]"))
    other.save(str(tmp_path / "tokenizer.json"))
    assert open_tokenizer(tmp_path / "tokenizer.json").encode("tea").ids == [3]


def test_wordpiece_keeps_no_words_of_the_texts(both: tuple[WordPiece, Any]) -> None:
    ours, _ = both
    before = {name: len(value) for name, value in vars(ours).items() if isinstance(value, dict)}
    ours.encode("zyxwv penicillin Clara Lisbon")
    after = {name: len(value) for name, value in vars(ours).items() if isinstance(value, dict)}
    del before["_characters"], after["_characters"]  # single characters, which tell nothing
    assert after == before
