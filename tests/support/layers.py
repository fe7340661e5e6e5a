"""Every layer of derived data, made from one secret."""

from collections import Counter

from slowcat_memory.core.memory import chunk_id
from tests.support.parroting_llm import Mind
from tests.support.rows import listed, listed_texts

SECRET = "Zqxsecret7"


TOLD = [
    tuple(text.replace("SECRET", SECRET) for text in exchange)
    for exchange in listed("layers", "told")
]
ELSE = listed_texts("layers", "else")
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


def tell(mind: Mind, **mark: bool) -> list[int]:
    """Talk about the secret between other sessions; mark the turns that hold it, and return them."""
    mind.talk("before", ELSE[:2])
    turns = [turn.id for turn in mind.talk("secret", TOLD) if SECRET in turn.text]
    if mark:
        edit(mind, turns, **mark)
    mind.talk("after", ELSE[2:])
    return turns


def edit(mind: Mind, turns: list[int], **mark: bool) -> None:
    for turn in turns:
        assert mind.engine.edit("anna", chunk_id(turn), **mark)
