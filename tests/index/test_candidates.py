"""What says nothing of its own stays a neighbour, and takes no place among the candidates."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.index import Document, IndexOptions, Pointer, Searcher
from slowcat_memory.index.build.builder import build
from slowcat_memory.kernels import library
from slowcat_memory.kernels.ranking import Row
from slowcat_memory.testing import HashEmbedder
from tests.support.index_oracle import OPTIONS, TOKENS
from tests.support.kernel_levels import COMPILED

EMBEDDER = HashEmbedder(64)
ASKED = "what is my dog called"


def doc(id_: str, text: str, before: str = "", **more: object) -> Document:
    return Document(id=id_, text=text, at=0.0, before=before, **more)  # type: ignore[arg-type]


def talk(copies: int) -> list[Document]:
    """One statement, and copies of a question with the agent's answer."""
    made = [doc("said", "our puppy max was named by my brother")]
    for n in range(copies):
        made.append(doc(f"q{n}", ASKED, substance=0.0, asks=True))
        made.append(doc(f"a{n}", "your dog is called max", f"q{n}", agent=True))
    return made


def proposed(searcher: Searcher, **how: bool) -> list[str]:
    words = searcher.lexical(f"{ASKED} max")
    vector = EMBEDDER.encode_query(ASKED)
    return list(searcher.candidates(words, vector, **how).ids)


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("copies", [1, 40])
def test_copies_of_a_question_and_of_its_answer_do_not_hide_what_was_said(
    tmp_path, copies: int, sealed: bool
) -> None:
    options = IndexOptions(candidates=4)
    searcher = Searcher(TOKENS, options, EMBEDDER.dim)
    documents = talk(copies)
    if sealed:
        vectors = {one.id: EMBEDDER.encode_query(one.text) for one in documents}
        folder = tmp_path / "sealed"
        folder.mkdir()
        build(documents, vectors, EMBEDDER.dim, folder, TOKENS, options)
        searcher = Searcher(TOKENS, options, EMBEDDER.dim, folder)
    else:
        for one in documents:
            searcher.add(one)
            searcher.put_vector(one.id, EMBEDDER.encode_query(one.text))
    assert proposed(searcher) == ["said"]
    assert "q0" in proposed(searcher, talk=True) or copies > 4


def test_the_agents_own_statement_is_proposed() -> None:
    searcher = Searcher(TOKENS, OPTIONS, EMBEDDER.dim)
    searcher.add(doc("said", "i should eat something"))
    searcher.add(doc("advice", "try the soup at luigi's", "said", agent=True))
    assert "advice" in proposed(searcher) or "advice" in list(
        searcher.candidates(searcher.lexical("soup")).ids
    )


def test_what_a_user_pinned_is_proposed_whatever_it_says() -> None:
    searcher = Searcher(TOKENS, OPTIONS, EMBEDDER.dim)
    searcher.add(doc("q", ASKED, substance=0.0, asks=True, pinned=True))
    found = searcher.candidates(searcher.lexical(ASKED))
    assert list(found.ids) == ["q"] and np.array_equal(found.block[Row.SUBSTANCE], [0.0])


def life(chance: np.random.Generator, folder: Path, sealed: int, tail: int) -> Searcher:
    """Sealed and later documents with keys, neighbours, talk, times and speakers; some die."""
    documents = [
        doc(
            f"m{n}",
            " ".join(chance.choice(["max", "cat", "bone", "tree", "sun"], chance.integers(1, 5))),
            f"m{n - 1}" if chance.random() < 0.7 else "",
            substance=float(chance.choice([0.0, 0.5, 1.0])),
            asks=bool(chance.random() < 0.3),
            agent=bool(chance.random() < 0.4),
            pinned=bool(chance.random() < 0.1),
            importance=float(chance.random()),
            speaker=str(chance.choice(["Anna", "Ben"])),
            about=(10.0, 20.0) if chance.random() < 0.2 else None,
            keys=(Pointer("q", "question", "the cat"),) if chance.random() < 0.2 else (),
        )
        for n in range(sealed + tail)
    ]
    made = Searcher(TOKENS, OPTIONS, EMBEDDER.dim)
    if sealed:
        with_vectors = [one for one in documents[:sealed] if chance.random() < 0.8]
        vectors = {one.id: EMBEDDER.encode_query(one.text) for one in with_vectors}
        build(documents[:sealed], vectors, EMBEDDER.dim, folder, TOKENS, OPTIONS)
        made = Searcher(TOKENS, OPTIONS, EMBEDDER.dim, folder)
    for one in documents[sealed:]:
        made.add(one)
        if chance.random() < 0.8:
            made.put_vector(one.id, EMBEDDER.encode_query(one.text))
    for number in np.flatnonzero(chance.random(sealed + tail) < 0.1).tolist():
        made.remove(f"m{number}")
    return made


@pytest.mark.skipif(not COMPILED, reason="there is no compiled library")
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sealed=st.sampled_from([0, 1, 30]),
    tail=st.sampled_from([0, 1, 20]),
    query=st.sampled_from(["max", "cat bone", "stranger"]),
    vectors=st.sampled_from([0, 1, 2]),
    talk=st.booleans(),
)
def test_candidates_every_level_chooses_and_fills_as_the_definition(
    seed: int, sealed: int, tail: int, query: str, vectors: int, talk: bool
) -> None:
    chance = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        searcher = life(chance, Path(folder), sealed, tail)
        lexical = searcher.lexical(query)
        vector = EMBEDDER.encode_query("max cat") if vectors else None
        own = EMBEDDER.encode_query("tree") if vectors == 2 else None
        count = len(searcher.table)
        proposed = chance.integers(0, count, min(3 * count, 60)) if count else np.zeros(0, np.int64)
        barred, seen = (chance.integers(-1, count + 1, 4).tolist() for _ in range(2))
        selector = searcher._selector
        searcher._lookup.score(lexical)
        known = count - int(chance.integers(0, 3))
        found = {}
        for level in library.levels():
            with library.using(level):
                found[level] = selector._choose(
                    proposed.copy(), known, barred, seen, query=vector, own=own, talk=talk
                )
        wanted = found[library.NUMPY]
        rows = [row for row in Row if row not in (Row.KEYS, Row.ASKED)]
        for level in COMPILED:
            got = found[level]
            assert got.numbers.tolist() == wanted.numbers.tolist()
            assert (got.fresh, got.saying) == (wanted.fresh, wanted.saying)
            np.testing.assert_allclose(
                got.block[rows], wanted.block[rows], rtol=1e-5, atol=1e-5, err_msg=level
            )
