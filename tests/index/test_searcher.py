import threading
from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
import pytest

from slowcat_memory.core.ranking.score import Row
from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.testing import HashEmbedder
from tests.support.index_oracle import OPTIONS, TOKENS, Oracle, build, scores_of, seal

EMBEDDER = HashEmbedder(32)


def doc(id_: str, text: str = "", before: str = "", **more: object) -> Document:
    return Document(id=id_, text=text or id_, at=0.0, before=before, **more)  # type: ignore[arg-type]


def line(*ids: str) -> list[Document]:
    """Documents said one after another; each one's text is its id."""
    return [doc(id_, before=before) for id_, before in zip(ids, ("", *ids), strict=False)]


def searcher(*documents: Document, dim: int = 0, options: IndexOptions = OPTIONS) -> Searcher:
    made = Searcher(TOKENS, options, dim)
    for document in documents:
        made.add(document)
        if dim:
            made.put_vector(document.id, EMBEDDER.encode([document.text]).vectors[0])
    return made


def found(made: Searcher, query: str) -> list[str]:
    scores = scores_of(made, query)
    return [id_ for id_ in sorted(scores, key=lambda id_: -scores[id_]) if scores[id_] > 0]


# ------------------------------------------------------------------- what is said is found


def test_searcher_nothing_is_found_in_an_empty_index(tmp_path):
    for made in (Searcher(TOKENS, OPTIONS, 32), seal(Oracle(), tmp_path / "sealed")):
        vector = EMBEDDER.encode_query("max").vector if made.dense.dim else None
        candidates = made.candidates(made.lexical("max"), vector)
        assert candidates.ids == [] and candidates.block.shape[1] == 0
        assert len(made) == 0 and made.mean_words == 0.0
        made.add(doc("1", "max"))
        assert found(made, "max") == ["1"]


@pytest.mark.parametrize("query", ["", " ", "!?", "the of and", "neverheard"])
def test_searcher_a_query_without_known_words_finds_nothing(query):
    made = searcher(doc("1", "my dog is called max"))
    assert found(made, query) == []
    assert made.candidates(made.lexical(query)).ids == []


# ------------------------------------------------------------------- the same again


def test_searcher_the_same_text_again_keeps_its_vector_and_takes_the_new_priors(tmp_path):
    oracle = Oracle(embedded={"1": EMBEDDER.encode_query("max").vector})
    oracle.add(doc("1", "max"))
    sealed = seal(oracle, tmp_path / "sealed", dim=32)
    for made in (searcher(doc("1", "max"), dim=32), sealed):
        tail = made.tail_count
        made.add(Document(id="1", text="max", at=5.0, importance=0.9, pinned=True, words=3))
        assert made.has_vector("1") and made.tail_count == tail and made.mean_words == 3.0
        candidates = made.candidates(made.lexical("max"))
        assert candidates.block[Row.AT][0] == 5.0 and candidates.pinned[0]
        assert candidates.block[Row.IMPORTANCE][0] == pytest.approx(0.9)


def test_searcher_without_any_vector_there_is_no_dense_view():
    made = Searcher(TOKENS, OPTIONS, 32)
    made.add(doc("1", "max"))
    candidates = made.candidates(made.lexical("max"), EMBEDDER.encode_query("max").vector)
    assert candidates.known == {"window"}


# ------------------------------------------------------------------- who, when, in which session


def test_searcher_candidates_know_their_sessions_speakers_and_times():
    made = searcher(
        doc("1", "max", speaker="Anna", about=(10.0, 20.0)),
        doc("2", "max", before="1", speaker="Ben"),
        doc("3", "max", speaker="Anna"),
        doc("4", "max", before="2"),
        options=IndexOptions(),
    )
    found = made.candidates(made.lexical("max"))
    session, speaker = (
        dict(zip(found.ids, column.tolist(), strict=True))
        for column in (found.block[Row.SESSION], found.block[Row.SPEAKER])
    )
    assert session["1"] == session["2"] == session["4"] != session["3"]
    assert made.table.speakers == ["Anna", "Ben", ""]
    assert [made.table.speakers[int(speaker[id_])] for id_ in "1234"] == ["Anna", "Ben", "Anna", ""]
    times = found.block[[Row.ABOUT_FROM, Row.ABOUT_UNTIL]].T.tolist()
    about = dict(zip(found.ids, map(tuple, times), strict=True))
    assert about["1"] == (10.0, 20.0) and np.isnan([about[id_] for id_ in "234"]).all()


def test_searcher_a_documents_vector_is_told_wherever_it_is(tmp_path):
    oracle = Oracle(embedded={id_: EMBEDDER.encode_query(id_).vector for id_ in "efg"})
    for document in line(*"efgh"):
        oracle.add(document)
    made = seal(oracle, tmp_path / "sealed", dim=32)
    made.add(doc("k", before="h"))
    made.put_vector("k", EMBEDDER.encode_query("k").vector)
    made.remove("f")  # lifts its neighbours
    for id_ in "egk":
        told = made.vector(id_)
        assert told is not None and told.shape == (32,)
        assert np.allclose(told, EMBEDDER.encode_query(id_).vector, atol=2e-3)
    assert [made.vector(id_) for id_ in ("f", "h", "stranger", "")] == [None] * 4
    made.add(doc("k", "other"))
    assert made.vector("k") is None
    made.put_vector("e", -EMBEDDER.encode_query("e").vector)
    changed = made.vector("e")
    assert changed is not None and np.allclose(
        changed, -EMBEDDER.encode_query("e").vector, atol=2e-3
    )
    assert searcher(doc("1")).vector("1") is None


# ------------------------------------------------------------------- while it changes


def test_searcher_what_came_after_the_first_stage_is_not_proposed():
    made = searcher(doc("1", "max"), dim=32)
    lexical = made.lexical("max")
    for document in (doc("2", "max"), doc("1", "moritz")):
        made.add(document)
        made.put_vector(document.id, EMBEDDER.encode_query("max").vector)
    assert made.candidates(lexical, EMBEDDER.encode_query("max").vector).ids == []


def test_searcher_searching_beside_a_writer_never_fails():
    made, stop = Searcher(TOKENS, OPTIONS, 32), threading.Event()

    def search() -> None:
        vector = EMBEDDER.encode_query("max").vector
        while not stop.is_set():
            candidates = made.candidates(made.lexical("max moritz"), vector)
            assert made.mean_words >= 0
            assert len(candidates) == len(candidates.ids)

    with ThreadPoolExecutor(3) as threads:
        searching = [threads.submit(search) for _ in range(3)]
        for number in range(400):
            before = str(number - 1)
            made.add(doc(str(number), "max" if number % 2 else "moritz", before, words=number))
            made.put_vector(str(number), EMBEDDER.encode_query("max").vector)
            if number % 5 == 4:
                made.remove(str(number - 2))
        stop.set()
    assert [one.exception() for one in searching] == [None] * 3


def test_searcher_the_tail_alone_answers_without_the_sealed_part(tmp_path):
    oracle = Oracle()
    oracle.add(doc("old", "max"))
    made = seal(oracle, tmp_path / "sealed")
    made.add(doc("new", "max"))
    found = scores_of(made, "max", sealed=False)
    assert found["old"] == 0.0 < found["new"]
    assert made.candidates(made.lexical("max", sealed=False)).ids == ["new"]


@pytest.mark.parametrize("count", [60, 10_000])
def test_searcher_faiss_answers_a_query_from_sixty_memories_on(count, tmp_path, monkeypatch):
    assert IndexOptions().seal_due(0, count)
    rows = np.random.default_rng(1).normal(size=(count, 32)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors = {f"m{n:05}": row for n, row in enumerate(rows)}
    build([doc(id_) for id_ in vectors], vectors, 32, tmp_path, TOKENS, OPTIONS)
    made = Searcher(TOKENS, OPTIONS, 32, tmp_path)
    calls = []
    for kind in (faiss.IndexFlatIP, faiss.IndexRefine):
        search = kind.search
        monkeypatch.setattr(kind, "search", lambda *args, of=search: calls.append(1) or of(*args))
    assert "m00042" in made.candidates(made.lexical("unheard"), rows[42]).ids
    assert calls


def test_neighbours_candidates_know_their_neighbours():
    made = searcher(*line(*"efghjklno"), options=IndexOptions(candidates=3))
    candidates = made.candidates(made.lexical("h"))
    assert set(candidates.ids) == {"g", "h", "j"}
    before, after = candidates.block[[Row.BEFORE, Row.AFTER]].astype(int)
    assert max(before) >= 0 and max(after) >= 0
    for place, id_ in enumerate(candidates.ids):
        for column, step in ((before, -1), (after, 1)):
            there = candidates.ids[column[place]] if column[place] >= 0 else None
            neighbour = "efghjklno"["efghjklno".index(id_) + step]
            assert there == (neighbour if neighbour in candidates.ids else None)


# ------------------------------------------------------------------- what says nothing of its own stays a neighbour, and takes no place among the candidates

ASKED = "what is my dog called"


def talk(copies: int) -> list[Document]:
    """One statement, and copies of a question with the agent's answer."""
    made = [doc("said", "our puppy max was named by my brother")]
    for n in range(copies):
        made.append(doc(f"q{n}", ASKED, substance=0.0, asks=True))
        made.append(doc(f"a{n}", "your dog is called max", f"q{n}", agent=True))
    return made


def proposed(made: Searcher, **how: bool) -> list[str]:
    words = made.lexical(f"{ASKED} max")
    return list(made.candidates(words, EMBEDDER.encode_query(ASKED).vector, **how).ids)


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("copies", [1, 40])
def test_copies_of_a_question_and_of_its_answer_do_not_hide_what_was_said(tmp_path, copies, sealed):
    options = IndexOptions(candidates=4)
    made, documents = searcher(*talk(copies), dim=32, options=options), talk(copies)
    if sealed:
        vectors = {one.id: EMBEDDER.encode_query(one.text).vector for one in documents}
        build(documents, vectors, 32, tmp_path, TOKENS, options)
        made = Searcher(TOKENS, options, 32, tmp_path)
    assert proposed(made) == ["said"]
    assert "q0" in proposed(made, talk=True) or copies > 4


def test_the_agents_own_statement_is_proposed():
    advice = doc("advice", "try the soup at luigi's", "said", agent=True)
    made = searcher(doc("said", "i should eat something"), advice)
    assert "advice" in made.candidates(made.lexical("soup")).ids


def test_what_a_user_pinned_is_proposed_whatever_it_says():
    made = searcher(doc("q", ASKED, substance=0.0, asks=True, pinned=True))
    found = made.candidates(made.lexical(ASKED))
    assert list(found.ids) == ["q"] and np.array_equal(found.block[Row.SUBSTANCE], [0.0])


def test_what_must_not_leave_this_machine_is_proposed_here_alone():
    made = searcher(doc("secret", "my dog is called max", local=True), doc("said", "max barks"))
    assert proposed(made) == ["secret", "said"]
    assert proposed(made, local=False) == ["said"]
    made.set_columns("secret", local=False)
    assert "secret" in proposed(made, local=False)
