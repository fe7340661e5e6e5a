"""Which words of a text are compared with those of others."""

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.language import language_of
from slowcat_memory.core.query import asked_facts
from slowcat_memory.core.query.asked_facts import KEY, LEAST, Wording, Wordings
from slowcat_memory.core.text.normalize import content_words, fold

WORDS = st.sampled_from(
    "the grandma's Grandma’s cleaning cleaned cities day's last day Straße straßen ÉTÉ moving moved "
    "house-moving I'm isn't ab abc abcd abcde abcdeing a.b 3rd 12th Monday".split()
)


def beginnings(text: str, language: str) -> set[str]:
    """Return the same as ``keys``, by the definition: every word folded, and its ending removed."""
    talk = language_of(language).talk
    words = [fold(word) for word in content_words(text) if len(word) >= LEAST]
    found = {asked_facts._ENDINGS.sub("", word)[:KEY] for word in words if word not in talk.empty}
    days = talk.named_days.findall(fold(text))
    return found.union(day[:KEY] + day[-LEAST:] for day in days)


@given(st.lists(WORDS).map(" ".join), st.sampled_from(["english", "german"]))
def test_the_keys_of_a_text_are_the_beginnings_of_its_words_without_endings(text, language):
    assert Wording(text, language).keys == beginnings(text, language)


def test_a_text_has_one_wording_in_a_recall():
    wordings = Wordings("english")
    one = wordings["The movers come on Monday"]
    assert wordings["The movers come on Monday"] is one and one.keys is one.keys
    assert one.likeness(wordings["On Monday the movers were late"]) == 2
