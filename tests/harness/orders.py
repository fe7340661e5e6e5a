"""Measures the guard: orders that reach the head of a session, ordinary sentences that are lost.
Each injection is said in a session of its own user, idle work runs with one of three tiers (rules
alone, an LLM that repeats, an LLM that rewords), and the head of the next session is read. An order
is *visible* if the head has it at all, as a quote too. Ordinary
sentences are *lost* if the guard takes away a fact by rule, or a sentence of a summary. A control
without the guard must show orders.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from slowcat_memory.core.blocks import session_head
from slowcat_memory.core.extraction import prompt_injection
from slowcat_memory.core.extraction.grounding import ground, held
from slowcat_memory.core.facts.by_rule import facts_by_rule
from slowcat_memory.core.summaries.by_rule import split_turn
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Turn
from slowcat_memory.testing import ScriptedLLM
from tests.harness.command import Harness, main
from tests.support.parroting_llm import Mind, parrot
from tests.support.said_lists import HALVES, Case, Half, cases, ordinary

BESIDE = "We had soup for lunch today and it was good."
AT = datetime(2026, 5, 11, 9, tzinfo=UTC)
THIRD = {
    "i": "Anna", "my": "Anna's", "me": "Anna", "you": "the assistant", "your": "the assistant's",
    "ich": "Anna", "mein": "Annas", "meine": "Annas", "mir": "Anna", "mich": "Anna",
    "du": "der Assistent", "dein": "des Assistenten", "deine": "des Assistenten",
}  # fmt: skip
_PERSONS = re.compile(rf"\b(?:{'|'.join(THIRD)})\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?…;])\s+")


def mapped(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """Change every text of a JSON value; ``change`` is given the key that it is under, too."""
    if isinstance(value, dict):
        return {name: mapped(one, change, name) for name, one in value.items()}
    if isinstance(value, list):
        return [mapped(one, change, key) for one in value]
    return change(value, key) if isinstance(value, str) else value


def rewording(prompt: Prompt) -> Any:
    """Write in the third person what was said, but quote it."""

    def reworded(text: str, key: str) -> str:
        if key in ("quote", "subject", "name", "type", "field"):
            return text
        return _PERSONS.sub(lambda match: THIRD[match[0].casefold()], text)

    return mapped(parrot(prompt), reworded)


TIERS: dict[str, Callable[[Prompt], dict[str, Any]] | None] = {
    "rules": None,
    "repeats": parrot,
    "rewords": rewording,
}


def visible(head: str, case: Case) -> str:
    """Return the sentence of a head that gives the order, "" for none."""
    sentences = (one for line in head.splitlines() for one in _SENTENCE.split(line))
    return next((one for one in sentences if case.is_in(one)), "")


def heads(found: list[Case], tier: str, folder: Path) -> Iterator[tuple[Case, str]]:
    """Yield each case with the head of its user's next session."""
    answer = TIERS[tier]
    mind = Mind(folder, ScriptedLLM(answer) if answer else None)
    try:
        for place, case in enumerate(found):
            scope = f"user{place}"
            mind.talk(f"s{place}", [(case.said, "I see."), (BESIDE, "Nice.")], scope=scope)
        assert mind.think(days=0.2) == 0
        for place, case in enumerate(found):
            yield case, mind.engine.session_context(f"user{place}", local=True)
    finally:
        mind.close()


def shown(
    half: Half, tier: str, most: int = 10_000, name: str = "injections", seed: int = 0
) -> tuple[list[tuple[Case, str]], int]:
    """Return the visible orders of one half of a list, and how many were said."""
    every = list(cases(half, name))
    step = max(1, len(every) // most)
    found = every[seed % step :: step]
    with tempfile.TemporaryDirectory() as folder:
        told = list(heads(found, tier, Path(folder) / "store"))
    return [(case, one) for case, head in told if (one := visible(head, case))], len(found)


@contextmanager
def unguarded() -> Iterator[None]:
    """Take every sentence for plain talk."""
    plain = mock.patch.object(prompt_injection, "_points", lambda codes, table: 0)
    marks = mock.patch.object(prompt_injection, "_MARKUP", re.compile(r"(?!)"))
    whole = mock.patch.object(session_head, "stated", lambda text, *_, **__: text)
    with plain, marks, whole:
        yield


def kept(sentence: str) -> tuple[int, int, int]:
    """Count what an ordinary sentence gives: facts by rule, quoted sentences, an LLM's sentences."""
    turn = Turn(id=1, session="s", scope="a", speaker="Anna", role="user", text=sentence, at=AT)
    said = len(split_turn(turn.speaker, turn.text, turn.id))
    return len(facts_by_rule(turn, UTC)), said, len(held(sentence, ground([turn], UTC)))


def lost(half: Half) -> tuple[list[str], int]:
    """Return the ordinary sentences of one half that lose anything by the guard."""
    every = ordinary(half)
    with unguarded():
        wanted = [kept(one) for one in every]
    pairs = zip(every, wanted, strict=True)
    return [one for one, before in pairs if kept(one) != before], len(every)


def run(folder: Path, count: int, seed: int, control: str) -> dict[str, float]:
    if control:
        with unguarded():
            return {"visible, repeats": len(shown("tuned", "repeats", count)[0])}
    found = Counter[str]()
    for half in HALVES:
        for tier in TIERS:
            orders, said = shown(half, tier, count, seed=seed)
            found[f"visible, {tier}"] += len(orders) > said * (0.01 if tier == "rules" else 0.03)
            found["orders"] += said
        gone, said = lost(half)
        found["ordinary, lost"] += len(gone) > said * 0.01
    return {law: found[law] for law in ("orders", *LAWS)}


LAWS = (*(f"visible, {tier}" for tier in TIERS), "ordinary, lost")
HARNESSES = {
    "orders": Harness(
        run=run, count=8, night=100, laws=LAWS, least={"orders": 0.1},
        controls={"unguarded": ("visible, repeats", 40)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
