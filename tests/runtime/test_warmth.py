from slowcat_memory.runtime.session.prefix import Warmth

WORDS = [{"role": "user", "content": "hello"}]


def test_the_same_words_are_read_once():
    warmth = Warmth()
    key = warmth.wanted(WORDS)
    assert key and warmth.wanted(WORDS) == key  # until it was read
    warmth.read(key)
    assert warmth.wanted(WORDS) == "" and warmth.wanted(WORDS, again=True) == key
    assert warmth.wanted([*WORDS, {"role": "assistant", "content": "hi"}]) not in ("", key)


def test_not_while_somebody_speaks_or_is_answered():
    warmth = Warmth()
    for note in (warmth.speaks, warmth.answers):
        note(True)
        assert warmth.wanted(WORDS, again=True) == ""
        note(False)
        assert warmth.wanted(WORDS)


def test_words_that_are_no_text_have_a_key():
    assert Warmth().wanted([{"role": "user", "content": "\ud800"}, object()])
