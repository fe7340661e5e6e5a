"""Which words of a text are compared with those of others."""

from slowcat_memory.core.query.asked_facts import Wordings


def test_a_text_has_one_wording_in_a_recall():
    wordings = Wordings("english")
    one = wordings["The movers come on Monday"]
    assert wordings["The movers come on Monday"] is one and one.keys is one.keys
    assert one.likeness(wordings["On Monday the movers were late"]) == 2
