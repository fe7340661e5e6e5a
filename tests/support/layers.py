"""Every layer of derived data, made from one secret."""

import asyncio
from collections import Counter

from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import read_graph
from slowcat_memory.runtime.commands.executor import CommandContext
from tests.support.parroting_llm import Mind
from tests.support.rows import listed, listed_texts

SECRET = "Zqxsecret7"
ASK = (
    f"What about {SECRET}?",
    "What did we talk about last week?",
    "Tell me about my sister and my dentist.",
    "Whom do I have to call about the contract?",
)
COMMANDS = ("What do you know about me?", "Why did you say that?")


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


def told(mind: Mind, *, local: bool) -> dict[str, str]:
    """Return all that reaches an LLM, on this machine or another, or is spoken, by its way out."""
    engine = mind.engine
    seen = {"head": engine.session_context("anna", local=local)}
    for text in ASK:
        found = asyncio.run(engine.recall(text, "anna", local=local))
        seen[f"block of {text}"] = engine.blocks.pack(found, engine.clock()).text
        seen[f"search {text}"] = repr(engine.search(text, "anna", 20, local=local).hits)
        then = engine.search(text, "anna", 20, local=local, at=mind.clock.now)
        seen[f"as of {text}"] = repr(then.hits)
        for kinds in (("summary",), ("fact",), ("episode",), ("note",)):
            hits = engine.search(text, "anna", 20, local=local, kinds=kinds).hits
            seen[f"{kinds} {text}"] = repr(hits)
    graph = read_graph(engine, "anna", local=local)
    seen["graph"] = repr(graph.portraits()) + repr(graph.relations)
    for text in COMMANDS:
        command = Heard(text, engine.config.memory.language).command()
        context = CommandContext(
            scope="anna", speaker="Anna", session="x", turn=0, llm="local" if local else "remote"
        )
        seen[text] = engine.carry_out(command, context).said
    return seen
