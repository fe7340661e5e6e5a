import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.text.grams import gram_tokens, grams
from slowcat_memory.core.text.normalize import Tokenizer


@pytest.mark.parametrize(
    ("word", "made"),
    [
        ("dog", ("#dog", "dog#")),
        ("ox", ("#ox#",)),
        ("a", ("#a#",)),
        ("", ()),
        ("moritz", ("#mor", "mori", "orit", "ritz", "itz#")),
        ("漢字", ()),
        ("สวัสดี", ()),
        ("мама", ("#мам", "мама", "ама#")),
    ],
)
def test_pieces_with_marked_ends(word: str, made: tuple[str, ...]) -> None:
    assert grams(word) == made


def test_a_misheard_word_shares_pieces() -> None:
    said, heard = set(grams("caroline")), set(grams("carolyne"))
    assert len(said & heard) / len(said | heard) > 0.25
    assert not set(grams("caroline")) & set(grams("lisbon"))


def test_tokens_of_a_text() -> None:
    assert gram_tokens(Tokenizer()("The dogs!")) == ["#dog", "dog#"]
    assert gram_tokens([], 3) == []


@given(st.text("abcdefg", min_size=1, max_size=60), st.integers(2, 6))
def test_pieces_have_n_letters_and_cover_the_word(word: str, n: int) -> None:
    pieces = grams(word, n)
    marked = f"#{word[:40]}#"
    assert all(len(piece) == min(n, len(marked)) for piece in pieces)
    assert pieces[0] + "".join(piece[-1] for piece in pieces[1:]) == marked
