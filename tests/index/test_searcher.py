import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import OPTIONS, TOKENS, Oracle, check_equal, counts_of, seal

from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.index.columns import Column
from slowcat_memory.testing import HashEmbedder

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
            made.put_vector(document.id, EMBEDDER.encode([document.text])[0])
    return made


def found(made: Searcher, query: str, view: str = "turn") -> list[str]:
    lexical = made.lexical(query)
    scores = getattr(lexical, view)
    return [made._ids[n] for n in np.argsort(-scores, kind="stable") if scores[n] > 0]


def window(made: Searcher, id_: str) -> str:
    return " ".join(sorted(counts_of(made, "window", id_).elements()))


# ------------------------------------------------------------------- what is said is found


def test_a_document_is_found_the_moment_it_is_added() -> None:
    made = searcher(doc("1", "my dog is called max"))
    assert found(made, "max") == ["1"]
    assert len(made) == 1 and "1" in made and made.tail_count == 1


def test_nothing_is_found_in_an_empty_index(tmp_path: Path) -> None:
    for made in (Searcher(TOKENS, OPTIONS, 32), seal(Oracle(), tmp_path / "sealed")):
        vector = EMBEDDER.encode_query("max") if made.dense.dim else None
        candidates = made.candidates(made.lexical("max"), vector)
        assert candidates.ids == [] and len(candidates.before) == 0
        assert len(made) == 0 and made.mean_words == 0.0
        made.add(doc("1", "max"))
        assert found(made, "max") == ["1"]


@pytest.mark.parametrize("query", ["", " ", "!?", "the of and", "neverheard"])
def test_a_query_without_known_words_finds_nothing(query: str) -> None:
    made = searcher(doc("1", "my dog is called max"))
    assert found(made, query) == []
    assert made.candidates(made.lexical(query)).ids == []


def test_more_are_asked_for_than_there_are() -> None:
    made = searcher(*line("1", "2", "3"), dim=32, options=IndexOptions(candidates=1000))
    candidates = made.candidates(made.lexical("2"), EMBEDDER.encode_query("2"))
    assert sorted(candidates.ids) == ["1", "2", "3"]


def test_a_document_without_words_is_kept_but_not_found() -> None:
    made = searcher(doc("1", "..."), doc("2", "max", before="1"))
    assert len(made) == 2 and found(made, "max") == ["2"]
    assert sorted(found(made, "max", "window")) == ["1", "2"]


def test_removing_takes_it_out_at_once() -> None:
    made = searcher(doc("1", "max"), doc("2", "max"), dim=32)
    assert made.remove("1") and not made.remove("1")
    assert found(made, "max") == ["2"] and "1" not in made
    assert made.candidates(made.lexical("max"), EMBEDDER.encode_query("max")).ids == ["2"]


# ------------------------------------------------------------------- the same again


def test_the_same_text_again_keeps_its_vector_and_takes_the_new_priors(tmp_path: Path) -> None:
    oracle = Oracle()
    oracle.add(doc("1", "max"))
    for made in (
        searcher(doc("1", "max"), dim=32),
        seal(oracle, tmp_path / "sealed", {"1": EMBEDDER.encode_query("max")}),
    ):
        tail = made.tail_count
        made.add(Document(id="1", text="max", at=5.0, importance=0.9, pinned=True, words=3))
        assert made.has_vector("1") and made.tail_count == tail and made.mean_words == 3.0
        candidates = made.candidates(made.lexical("max"))
        assert candidates.at[0] == 5.0 and candidates.pinned[0]
        assert candidates.importance[0] == pytest.approx(0.9)


def test_another_text_loses_the_vector() -> None:
    made = searcher(doc("1", "max"), dim=32)
    made.add(doc("1", "moritz"))
    assert not made.has_vector("1") and found(made, "max") == []
    assert found(made, "moritz") == ["1"] and len(made) == 1


def test_priors_may_change_and_strangers_are_passed_over() -> None:
    made = searcher(doc("1", "max"), dim=32)
    made.set_priors("1", 0.2, True)
    made.set_priors("stranger", 0.2, True)
    made.put_vector("stranger", EMBEDDER.encode_query("max"))
    candidates = made.candidates(made.lexical("max"))
    assert candidates.pinned.tolist() == [True]
    assert candidates.importance.tolist() == pytest.approx([0.2])


def test_a_document_without_a_vector_has_no_cosine() -> None:
    made = searcher(doc("1", "max"), dim=32)
    made.add(doc("2", "max"))
    candidates = made.candidates(made.lexical("max"), EMBEDDER.encode_query("max"))
    cosines = dict(zip(candidates.ids, candidates.views["dense"], strict=True))
    assert cosines["1"] == pytest.approx(1.0) and np.isnan(cosines["2"])


def test_without_any_vector_there_is_no_dense_view() -> None:
    made = Searcher(TOKENS, OPTIONS, 32)
    made.add(doc("1", "max"))
    candidates = made.candidates(made.lexical("max"), EMBEDDER.encode_query("max"))
    assert set(candidates.views) == {"turn", "window"}


def test_the_mean_length_is_that_of_the_living() -> None:
    made = searcher(doc("1", words=10), doc("2", words=20), doc("3", words=60))
    made.remove("3")
    assert made.mean_words == 15.0
    made.add(doc("2", "longer", words=30))
    assert made.mean_words == 20.0


# ------------------------------------------------------------------- neighbours


def test_a_window_holds_the_words_of_three() -> None:
    made = searcher(*line("e", "f", "g", "h"))
    assert [window(made, id_) for id_ in "efgh"] == ["e f", "e f g", "f g h", "g h"]


def test_neighbours_close_up_when_one_goes() -> None:
    made = searcher(*line("e", "f", "g", "h"))
    made.remove("f")
    assert [window(made, id_) for id_ in "egh"] == ["e g", "e g h", "g h"]


def test_one_may_come_between_two() -> None:
    made = searcher(*line("e", "f"), doc("x", before="e"))
    assert [window(made, id_) for id_ in "exf"] == ["e x", "e f x", "f x"]


def test_a_new_text_enters_its_neighbours_windows() -> None:
    made = searcher(*line("e", "f", "g"))
    made.add(doc("f", "new"))
    assert [window(made, id_) for id_ in "efg"] == ["e new", "e g new", "g new"]


def test_neighbours_in_the_sealed_part_follow(tmp_path: Path) -> None:
    oracle = Oracle()
    for document in line("e", "f", "g", "h"):
        oracle.add(document)
    vectors = {id_: EMBEDDER.encode_query(id_) for id_ in "efgh"}
    made = seal(oracle, tmp_path / "sealed", vectors)
    made.remove("f")
    made.add(doc("k", before="h"))
    assert [window(made, id_) for id_ in "eghk"] == ["e g", "e g h", "g h k", "h k"]
    oracle.remove("f")
    oracle.add(doc("k", before="h"))
    check_equal(made, oracle, "e h k")
    for id_ in "egh":  # what was lifted out of the sealed part kept its vector
        cosine = made.dense.cosines(vectors[id_], np.array([made._number[id_]]))
        assert cosine == pytest.approx(1.0, abs=2e-3)


def test_candidates_know_their_neighbours() -> None:
    made = searcher(*line(*"efghjklno"), options=IndexOptions(candidates=3))
    candidates = made.candidates(made.lexical("h"))
    assert set(candidates.ids) == {"g", "h", "j"}  # by the window view; "h" by the turn view too
    assert max(candidates.before) >= 0 and max(candidates.after) >= 0
    for place, id_ in enumerate(candidates.ids):
        for column, step in ((candidates.before, -1), (candidates.after, 1)):
            there = candidates.ids[column[place]] if column[place] >= 0 else None
            neighbour = "efghjklno"["efghjklno".index(id_) + step]
            assert there == (neighbour if neighbour in candidates.ids else None)


def test_who_names_an_unknown_neighbour_has_none() -> None:
    made = searcher(doc("e", before="gone"))
    assert window(made, "e") == "e"


# ------------------------------------------------------------------- while it changes


def test_what_came_after_the_first_stage_is_not_proposed() -> None:
    made = searcher(doc("1", "max"), dim=32)
    lexical = made.lexical("max")
    for document in (doc("2", "max"), doc("1", "moritz")):
        made.add(document)
        made.put_vector(document.id, EMBEDDER.encode_query("max"))
    assert made.candidates(lexical, EMBEDDER.encode_query("max")).ids == []


def test_searching_beside_a_writer_never_fails() -> None:
    made, stop, trouble = Searcher(TOKENS, OPTIONS, 32), threading.Event(), []

    def search() -> None:
        vector = EMBEDDER.encode_query("max")
        while not stop.is_set():
            try:
                candidates = made.candidates(made.lexical("max moritz"), vector)
                assert made.mean_words >= 0
                assert {len(values) for values in candidates.views.values()} <= {
                    len(candidates.ids)
                }
            except Exception as error:
                trouble.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(400):
        before = str(number - 1)
        made.add(doc(str(number), "max" if number % 2 else "moritz", before, words=number))
        made.put_vector(str(number), EMBEDDER.encode_query("max"))
        if number % 5 == 4:
            made.remove(str(number - 2))
    stop.set()
    for thread in threads:
        thread.join()
    assert trouble == []


def test_the_tail_alone_answers_without_the_sealed_part(tmp_path: Path) -> None:
    oracle = Oracle()
    oracle.add(doc("old", "max"))
    made = seal(oracle, tmp_path / "sealed")
    made.add(doc("new", "max"))
    lexical = made.lexical("max", sealed=False)
    assert [made._ids[n] for n in np.flatnonzero(lexical.turn)] == ["new"]


@given(st.lists(st.integers(-1000, 1000)))
def test_a_column_holds_what_was_appended(values: list[int]) -> None:
    column = Column(np.int32, np.array(values[:3]))
    for value in values[3:]:
        column.append(value)
    assert column.values.tolist() == values and len(column) == len(values)
