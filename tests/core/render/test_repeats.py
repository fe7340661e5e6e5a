"""Which sentences say what another one says."""

from slowcat_memory.core.render.repeats import Told
from tests.support.rows import each_row

SAME = [
    ("Anna is allergic to latex.", "Anna has an allergy to latex; she is allergic."),
    ("Anna works at Northlight as a planner.", "Anna works at Northlight."),
    ("The plumber comes on 12 May 2026 at ten.", "The plumber comes on 12 May."),
    ("Cathal is an electrician in Halifax.", "Cathal works as electrician."),
    ("Anna no longer eats meat.", "Anna does not eat meat any longer."),
    ("Ben is seven years old.", "Ben is 7 years old."),
    ("Anna lebt seit Mai in Leipzig.", "Anna lebt in Leipzig."),
    ("Anna mag keinen Fisch.", "Anna mag Fisch nicht."),
    ("Biscuit is Anna's cat.", "Anna's cat is Biscuit."),
    ("Two Blokes are booked for the move.", "The move: Two Blokes booked."),
]


@each_row(("first", "second"), SAME[1:])
def test_what_another_sentence_says_is_told_once(first: str, second: str) -> None:
    told = Told(("Anna",))
    told.add(first)
    assert told.repeats(second) and told.news(second) == ""
