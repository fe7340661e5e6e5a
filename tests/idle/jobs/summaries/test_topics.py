"""Topics that sessions come back to."""

from datetime import timedelta

from slowcat_memory.core.summaries.summary import items
from tests.support.daily_talks import MONDAY

WORK = ("I start as a nurse at the Mercy hospital.", "The shifts are long.", "I like the team.")


def test_topics_what_sessions_come_back_to_becomes_a_topic(house):
    one = house()
    for n in range(4):
        at = MONDAY + timedelta(days=n)
        one.talk(f"dog{n}", "My dog Max barks at cats.", "The dog Max needs a vet.", at=at)
        one.talk(f"work{n}", *WORK, at=at + timedelta(hours=4))
    one.clock.advance(5 * 86_400)
    one.think()
    made = list(one.made("topic").values())
    members = [
        {id.rpartition("/")[2].rstrip("0123456789") for id in items(m, "covers")} for m in made
    ]
    assert sorted(members, key=str) == [{"dog"}, {"work"}]
    dog, work = sorted(made, key=lambda m: m.sources)
    assert (dog.facets["name"], work.facets["name"]) == ("Max", "Mercy")
    assert "Max" in dog.text and "Mercy" not in dog.text
    before = {m.id for m in made}
    one.talk("dog9", "My dog Max barks at cats.", "The dog Max needs a vet.")
    one.think()
    after = one.made("topic").values()
    assert {m.id for m in after} == before, "a topic keeps its name as it grows"
    assert sorted(len(items(m, "covers")) for m in after) == [4, 5]
