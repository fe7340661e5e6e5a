"""What says nothing of its own stays a neighbour, and takes no place among the candidates."""

import numpy as np
import pytest

from slowcat_memory.core.ranking.offering import Row
from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.testing import HashEmbedder
from tests.support.index_oracle import OPTIONS, TOKENS, build

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
def test_copies_of_a_question_and_of_its_answer_do_not_hide_what_was_said(tmp_path, copies, sealed):
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


def test_the_agents_own_statement_is_proposed():
    searcher = Searcher(TOKENS, OPTIONS, EMBEDDER.dim)
    searcher.add(doc("said", "i should eat something"))
    searcher.add(doc("advice", "try the soup at luigi's", "said", agent=True))
    assert "advice" in proposed(searcher) or "advice" in list(
        searcher.candidates(searcher.lexical("soup")).ids
    )


def test_what_a_user_pinned_is_proposed_whatever_it_says():
    searcher = Searcher(TOKENS, OPTIONS, EMBEDDER.dim)
    searcher.add(doc("q", ASKED, substance=0.0, asks=True, pinned=True))
    found = searcher.candidates(searcher.lexical(ASKED))
    assert list(found.ids) == ["q"] and np.array_equal(found.block[Row.SUBSTANCE], [0.0])


def test_what_must_not_leave_this_machine_is_proposed_here_alone():
    searcher = Searcher(TOKENS, OPTIONS, EMBEDDER.dim)
    searcher.add(doc("secret", "my dog is called max", local=True))
    searcher.add(doc("said", "max barks"))
    assert searcher.has_local
    assert proposed(searcher) == ["secret", "said"]
    assert proposed(searcher, local=False) == ["said"]
    searcher.set_columns("secret", local=False)
    assert not searcher.has_local and "secret" in proposed(searcher, local=False)
