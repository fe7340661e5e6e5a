import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.providers.embedding import chunking
from slowcat_memory.providers.embedding.chunking import ChunkPlan, gather, sendable, split, unit


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@given(st.text(alphabet="ab .!?\n漢。", max_size=300), st.integers(2, 20))
def test_chunking_pieces_hold_every_token_once_in_order_and_none_is_too_long(
    text: str, budget: int
) -> None:
    pieces = split(text, words(text), budget)
    assert pieces
    assert "".join("".join(pieces).split()) == "".join(text.split())
    # a cut inside a run of letters makes two tokens of one
    assert all(len(words(piece)) <= budget + 1 for piece in pieces)


def test_chunking_cuts_after_sentences() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    assert split(text, words(text), 10) == [
        "One two three. Four five six. ",
        "Seven eight nine. Ten eleven twelve.",
    ]


def test_chunking_a_longer_piece_counts_more() -> None:
    vectors = np.eye(3, dtype=np.float32)
    mean = gather(ChunkPlan(["a" * 30, "b" * 10, "alone"], [2, 1]), vectors)
    assert mean.shape == (2, 3)
    assert np.allclose(mean[0], unit(np.array([[3.0, 1.0, 0.0]]))[0])
    assert np.allclose(mean[1], [0, 0, 1])


@pytest.mark.parametrize("text", ["plain", "\ud800", "a\udc00b", "👩‍👧"])
def test_sendable_can_always_be_encoded(text: str) -> None:
    sent = sendable(text)
    assert sent.encode().decode() == sent


def test_chunking_a_very_long_document_is_cut() -> None:
    class Letters:
        def encode(self, text: str, add_special_tokens: bool = True):  # type: ignore[no-untyped-def]
            self.ids, self.offsets = [0, 0], [(at, at + 1) for at in range(len(text))]
            return self

    plan = chunking.plan(["x" * 1_000_000, "y"], Letters(), "", 258)  # type: ignore[arg-type]
    assert plan.counts == [chunking.MAX_CHARS // 256, 1]
