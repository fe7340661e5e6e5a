"""The index of words and of names."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.index import Document, IndexOptions, Searcher, words
from slowcat_memory.index.builder import LexicalWriter
from slowcat_memory.index.words import MOST, ForwardIndex, NameLexicon, Vocabulary
from tests.support.index_oracle import OPTIONS, TOKENS, build
from tests.support.rows import each_listed, listed_texts

# ------------------------------------------------------------------- what a namespace takes a misheard word for

SAID = listed_texts("text/heard_names", "said")


def documents(*lines: str) -> list[Document]:
    return [
        Document(id=f"chunk/{n}", text=line, at=0.0, speaker=line.partition(":")[0])
        for n, line in enumerate(lines, start=1)
    ]


def searcher(*lines: str) -> Searcher:
    made = Searcher(TOKENS, OPTIONS)
    for document in documents(*lines):
        made.add(document)
    return made


def meant(made: Searcher, text: str) -> list[tuple[str, str]]:
    return [(one.said, one.name) for one in made.heard(text)]


@pytest.fixture(params=["tail", "sealed"])
def told(request: pytest.FixtureRequest, tmp_path: Path) -> Searcher:
    if request.param == "tail":
        return searcher(*SAID)
    build(documents(*SAID), {}, 0, tmp_path, TOKENS, OPTIONS)
    return Searcher(TOKENS, OPTIONS, sealed=tmp_path)


@each_listed("text/heard_names")
def test_name_lexicon_a_misheard_name_is_found(told, text, heard, name):
    assert meant(told, text) == [(heard, name)]


@each_listed("text/known_words", "")
def test_name_lexicon_everyday_and_known_words_are_what_they_are(told, text):
    assert meant(told, text) == []


def test_name_lexicon_what_is_meant_weighs_less_than_what_is_said_and_both_are_searched():
    made = searcher(*SAID)
    plain = made.lexical("ysaura bread")
    also = made.lexical("ysaura bread", also=(("Isaura", 0.7),))
    assert also.ceiling == plain.ceiling  # no hit looks likelier because a word was doubtful
    assert set(also.weights) == {*plain.weights, "isaura"}
    assert also.weights["isaura"] == pytest.approx(0.7 * made.lexical("isaura").weights["isaura"])
    found = made.candidates(also)
    assert "chunk/1" in list(found.ids) and "chunk/2" in list(found.ids)


def test_name_lexicon_a_name_said_after_the_seal_counts_with_those_before(tmp_path):
    build(documents(*SAID), {}, 0, tmp_path, TOKENS, OPTIONS)
    made = Searcher(TOKENS, OPTIONS, sealed=tmp_path)
    made.add(Document(id="chunk/9", text="Ben: then Isaura met Ottokar.", at=0.0, speaker="Ben"))
    words = {one.word: one.count for one in made.hotwords(99)}
    assert words["Isaura"] == 2 and words["Ottokar"] == 1
    assert meant(made, "otokar") == [("otokar", "Ottokar")]
    assert made.names.is_name("ottokar") and not made.names.is_name("pottery")


def test_name_lexicon_hotwords_are_names_first():
    words = searcher(*SAID, *(["Anna: the pottery oven"] * 5)).hotwords(99)
    assert [one.weight for one in words] == sorted((one.weight for one in words), reverse=True)
    assert words[0].word == "Anna" and words[0].weight == 1.0
    assert {one.word for one in words} >= {"Isaura", "kaitlyn", "Mae", "pottery"}
    assert not {"market", "bread", "sister"} & {one.word for one in words}
    assert {one.word: one.name for one in words}["pottery"] is False


def test_name_lexicon_what_is_kept_is_bounded():
    names = NameLexicon()

    def unknown(words: Sequence[str]) -> list[bool]:
        return [True for _ in words]

    names.add("and Isaura " * 5, "")
    for n in range(3 * MOST):
        word = "".join("bcdfghjklm"[int(digit)] + "o" for digit in str(n))
        names.add(f"then {word}tz", "")
    assert len(names.hotwords(10 * MOST)) <= 2 * MOST
    assert [one.name for one in names.sounding_like(["ysaura"], unknown)] == ["Isaura"]


def test_name_lexicon_endless_words_and_queries_find_nothing(told):
    assert meant(told, "ysaura" + "a" * 100_000) == []
    assert meant(told, "who " * 500 + "ysaura") == []


# ------------------------------------------------------------------- forward index


def test_vocabulary_terms_of_equal_hash_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "_hash", lambda term: len(term))
    terms = ["one", "two", "six", "three", "seven", "eleven"]
    rows = Vocabulary.write(terms, tmp_path).tolist()
    made = Vocabulary(tmp_path)
    assert made.rows([*terms, "ten", "nobody", ""]) == [*rows, -1, -1, -1]
    assert [made.term(row) for row in rows] == terms


def test_lexical_writer_stored_counts_are_exact(tmp_path):
    said = [
        {"often": times, "now": 1 + times % 3, **({"then": 2} if times % 2 else {})}
        for times in (1, 2, 3, 50, 299, 1000, 9000)
    ]
    said.insert(3, {})
    writer = LexicalWriter()
    for counts in said:
        writer.add(list(Counter(counts).elements()))
    none = np.full(len(said), -1, np.int32)
    writer.finish(tmp_path, IndexOptions(), none, none)
    source = ForwardIndex(tmp_path)
    assert [source.own(number) for number in range(len(said))] == said
    assert source.sum_sealed([0, 4])[0] == Counter(said[0]) + Counter(said[4])
