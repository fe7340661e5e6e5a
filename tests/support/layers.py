"""Every layer of derived data, made from one secret."""

from collections import Counter

from tests.support.parroting_llm import Mind

SECRET = "Zqxsecret7"


TOLD = (
    (f"I have an appointment with my dentist {SECRET} on 28 May.",
     f"I suggest that you write {SECRET} on a card."),
    (f"I still have to call {SECRET} about the contract, I am anxious.",
     f"You could call {SECRET} tomorrow."),
    (f"My sister {SECRET} lives in Porto.", "Porto is near."),
    ("My dog Max likes the beach in Lisbon.", f"Lisbon is nice, as {SECRET} would say."),
)  # fmt: skip


ELSE = (
    "My brother Ben lives in Berlin and works at Siemens.",
    "I work as a nurse at Mercy hospital.",
    "I bought a red bicycle and a green lamp.",
    "It rains a lot here in November.",
    "I meet my plumber about the kitchen sink in June.",
    "I meet my plumber about the leaking kitchen sink and the old boiler in July.",
)


LAYERS = {
    *("block", "context", "entity", "episode", "fact", "icebreaker", "key", "reading"),
    *(f"summary/{tier}" for tier in ("session", "window", "meta", "day", "week", "topic")),
}


def layers(mind: Mind, word: str = SECRET) -> Counter[str]:
    """Count the records that hold a word, by what they are."""
    found = Counter[str]()
    with mind.engine.store.snapshot() as snapshot:
        for memory in snapshot.memories("anna"):
            kind = memory.kind if memory.kind.startswith("summary") else memory.kind.split("/")[0]
            found[kind] += word.casefold() in repr(memory).casefold()
        found["context"] = sum(word in one.text for one in snapshot.contexts("anna"))
        found["key"] = sum(word in one.text for one in snapshot.keys("anna"))
    return +found
