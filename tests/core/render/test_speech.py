"""Texts that are spoken aloud, and excerpts of long ones."""

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.render import speech
from slowcat_memory.core.render.memory_block import GAP, ExtractOptions, relevant
from slowcat_memory.core.render.speech import speakable
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens
from tests.support.rows import each_listed, listed_texts

# ------------------------------------------------------------------- speech


@each_listed("rules/speech.jsonl")
def test_speakable_puts_in_words(text: str, spoken: str) -> None:
    assert speakable(text) == spoken


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=300))
def test_speakable_takes_any_text(text: str) -> None:
    assert bool(speakable(text).strip()) == bool(text.strip()) or not text.strip()


SPELT = st.text("aA b.-*_~#>`[]():/w1490\t\n•é🙂T", max_size=40)


@given(SPELT)
def test_a_text_without_marks_is_what_all_replacements_leave(text):
    """The one search that spares the others finds whatever they would replace."""
    if speech._MARKED.search(text) is None:
        patterns = (speech._NAMED_LINK, speech._LINK, speech._ISO, speech._EMOJI)
        patterns += (speech._EMPHASIS, speech._LINE_MARK, speech._SPACES)
        assert not any(pattern.search(text) for pattern in patterns) and "`" not in text
        assert speakable(text) == (text.strip() or text)


# ------------------------------------------------------------------- excerpt

TOKENS = Tokenizer()
[STORY], [SPEECH] = (listed_texts("rules/excerpts", part) for part in ("story", "speech"))


def cut(text: str, query: str, limit: int = 60, **options) -> str:
    return relevant(
        text, dict.fromkeys(TOKENS(query), 1.0), TOKENS, limit, ExtractOptions(**options)
    )


def test_relevant_keeps_the_sentence_before_a_pronoun() -> None:
    assert cut(STORY, "who ate a walnut") == (
        "… Dr. Berg examined the dog on the second day. He said that it had eaten a walnut. …"
    )


def test_relevant_marks_gaps_and_keeps_the_order() -> None:
    got = cut(STORY, "cello and family", keep_share=0.3)
    assert got == (
        "We were away with the whole family for a week. … "
        "On the last evening my sister played the cello."
    )


def test_relevant_cuts_speech_at_clauses() -> None:
    got = cut(SPEECH, "where were the keys of the cabin", limit=40)
    assert "he had left the keys for the cabin at home" in got
    assert len(got.split()) < 35 and "plum" not in got
    assert "plum cake" in cut(SPEECH, "which cake did I eat", limit=40)


words = st.lists(
    st.sampled_from(
        ["dog", "cello", "it", "It", "and", "rain", "a", "café", "b.", "c?", "walnut,"]
    ),
    max_size=200,
).map(" ".join)


@given(words, st.sampled_from(["", "dog", "cello walnut", "rain café"]), st.integers(5, 120))
def test_relevant_adds_no_word_and_keeps_the_limit(text: str, query: str, limit: int) -> None:
    got = cut(text, query, limit)
    left = iter(text.split())
    assert all(any(word == other for other in left) for word in got.replace(GAP, " ").split())
    assert estimate_tokens(got) <= limit + 4  # the marks of gaps


@given(st.text(max_size=300), st.integers(1, 60))
def test_relevant_takes_any_text(text: str, limit: int) -> None:
    cut(text, "dog", limit, whole_words=5)
